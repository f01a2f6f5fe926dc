/*-------------------------------------------------------------------------
 *
 * decode.h
 *		Bytes to text: verified or converted to the server's encoding.
 *
 * IDENTIFICATION
 *		src/decode.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_DECODE_H
#define INGEST_DECODE_H

#include "postgres.h"

/* Reads at most len bytes into buf; 0 at the end. */
typedef size_t (*IngestDecodeRead) (void *arg, char *buf, size_t len);

/*
 * A window of text.  The user of a decoder reads it here, moves data and len
 * on as it consumes text, and may change what it has consumed.  The byte at
 * data[len] may be written to if last is set.
 */
typedef struct IngestDecoder
{
	char	   *data;			/* text not consumed yet */
	size_t		len;
	bool		last;			/* no text follows */

	/* private to decode.c from here on */
	IngestDecodeRead read;
	void	   *read_arg;
	int			encoding;		/* of the bytes */
	Oid			conversion;		/* function, or invalid for none */
	bool		bad;			/* the text is followed by bytes that are none */

	char	   *buf;			/* text, then bytes not verified yet */
	size_t		size;
	size_t		unverified;

	char	   *raw;			/* bytes not converted yet */
	size_t		raw_len;
	bool		raw_eof;
} IngestDecoder;

/* in decode.c */
extern IngestDecoder *ingest_decode_begin(int encoding, IngestDecodeRead read,
										  void *read_arg);

/*
 * Add to the window; on return there is more text in it, or last is set.
 * Raises the server's error when what comes next is not valid.
 */
extern void ingest_decode_more(IngestDecoder *decoder);

#endif							/* INGEST_DECODE_H */
