/*-------------------------------------------------------------------------
 *
 * decode.c
 *		Bytes to text: verified or converted to the server's encoding.
 *
 * Follows CopyConvertBuf() in src/backend/commands/copyfromparse.c: bytes are
 * converted in blocks before anyone looks for quotes, delimiters or line
 * ends, because in an encoding that only clients may use these can be part of
 * a character; and an invalid byte is an error only when all valid text
 * before it has been consumed, so that errors come in the order of the lines.
 *
 * The window always fills its buffer before it is handed out again.  Its user
 * starts over with a record that did not fit, and as the buffer doubles, the
 * work stays proportional to the bytes.
 *
 * IDENTIFICATION
 *		src/decode.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "catalog/namespace.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "decode.h"

/* Bytes of text in the window before a longer record makes it grow. */
#define WINDOW_SIZE		(256 * 1024)

/* Bytes read at a time for conversion. */
#define RAW_SIZE		(64 * 1024)

/*
 * Least space for converted text.  The server takes no more input than fits
 * when every byte grows as much as any conversion makes it grow, and must see
 * at least one character.
 */
#define LEAST_CONVERSION_SPACE \
	(2 * MAX_CONVERSION_INPUT_LENGTH * MAX_CONVERSION_GROWTH)

/* COPY keeps a record in a StringInfo. */
#define MAX_RECORD		((size_t) MaxAllocSize - 1)

IngestDecoder *
ingest_decode_begin(int encoding, IngestDecodeRead read, void *read_arg)
{
	IngestDecoder *decoder = palloc0(sizeof(IngestDecoder));
	int			server = GetDatabaseEncoding();

	decoder->read = read;
	decoder->read_arg = read_arg;
	decoder->encoding = encoding;
	if (encoding != server && encoding != PG_SQL_ASCII &&
		server != PG_SQL_ASCII)
	{
		decoder->conversion = FindDefaultConversionProc(encoding, server);
		if (!OidIsValid(decoder->conversion))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_FUNCTION),
					 errmsg("default conversion function for encoding \"%s\" to \"%s\" does not exist",
							pg_encoding_to_char(encoding),
							pg_encoding_to_char(server))));
		decoder->raw = palloc(RAW_SIZE + 1);
	}

	decoder->size = WINDOW_SIZE;
	decoder->buf = palloc(decoder->size + 1);
	decoder->data = decoder->buf;
	return decoder;
}

/*
 * Make room after the text in the window: move it to the beginning of the
 * buffer, and double the buffer if that is not enough.
 */
static void
make_room(IngestDecoder *decoder)
{
	size_t		used = decoder->len + decoder->unverified;

	if (decoder->data != decoder->buf && used > 0)
		memmove(decoder->buf, decoder->data, used);
	decoder->data = decoder->buf;

	if (decoder->size - used >= Max(decoder->size / 4, LEAST_CONVERSION_SPACE))
		return;

	if (decoder->len > MAX_RECORD)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("out of memory"),
				 errdetail("A record is longer than %zu bytes.", MAX_RECORD)));

	decoder->size *= 2;
	decoder->buf = repalloc_huge(decoder->buf, decoder->size + 1);
	decoder->data = decoder->buf;
}

/*
 * Have the server raise its error for the bytes that follow the text.
 */
static void
report_bad_bytes(IngestDecoder *decoder)
{
	char	   *text_end = decoder->data + decoder->len;

	if (!OidIsValid(decoder->conversion))
		report_invalid_encoding(decoder->encoding, text_end,
								decoder->unverified);

	make_room(decoder);
	text_end = decoder->data + decoder->len;
	(void) pg_do_encoding_conversion_buf(decoder->conversion,
										 decoder->encoding,
										 GetDatabaseEncoding(),
										 (unsigned char *) decoder->raw,
										 decoder->raw_len,
										 (unsigned char *) text_end,
										 LEAST_CONVERSION_SPACE, false);
	elog(ERROR, "encoding conversion failed without error");
}

/*
 * Fill the buffer with bytes and verify them.
 */
static void
add_verified(IngestDecoder *decoder)
{
	size_t		verified;

	while (!decoder->raw_eof)
	{
		size_t		used = decoder->len + decoder->unverified;
		size_t		got;

		if (used == decoder->size)
			break;
		got = decoder->read(decoder->read_arg, decoder->buf + used,
							decoder->size - used);
		decoder->unverified += got;
		decoder->raw_eof = got == 0;
	}

	/* Bytes come in at most a buffer at a time, which an int can count. */
	verified = pg_encoding_verifymbstr(decoder->encoding,
									   decoder->data + decoder->len,
									   (int) decoder->unverified);
	decoder->len += verified;
	decoder->unverified -= verified;

	if (decoder->unverified == 0)
		decoder->last = decoder->raw_eof;
	else if (decoder->raw_eof ||
			 decoder->unverified >=
			 (size_t) pg_encoding_max_length(decoder->encoding))
		decoder->bad = true;
}

/*
 * Convert the bytes at hand into the room after the text; returns false if
 * that was not possible without more bytes.
 */
static bool
convert_raw(IngestDecoder *decoder)
{
	char	   *out = decoder->data + decoder->len;
	int			space = (int) Min(decoder->size - decoder->len + 1, INT_MAX);
	int			converted;

	converted = pg_do_encoding_conversion_buf(decoder->conversion,
											  decoder->encoding,
											  GetDatabaseEncoding(),
											  (unsigned char *) decoder->raw,
											  (int) decoder->raw_len,
											  (unsigned char *) out, space,
											  true);
	if (converted == 0)
	{
		if (decoder->raw_eof ||
			decoder->raw_len >= MAX_CONVERSION_INPUT_LENGTH)
			decoder->bad = true;
		return false;
	}
	decoder->len += strlen(out);
	decoder->raw_len -= converted;
	memmove(decoder->raw, decoder->raw + converted, decoder->raw_len);
	return true;
}

/*
 * Fill the buffer with converted text.
 */
static void
add_converted(IngestDecoder *decoder)
{
	while (!decoder->bad && !decoder->last &&
		   decoder->size - decoder->len >= LEAST_CONVERSION_SPACE)
	{
		size_t		got;

		if (decoder->raw_len > 0 && convert_raw(decoder))
			continue;
		if (decoder->bad)
			break;
		if (decoder->raw_eof)
		{
			decoder->last = true;
			break;
		}
		got = decoder->read(decoder->read_arg,
							decoder->raw + decoder->raw_len,
							RAW_SIZE - decoder->raw_len);
		decoder->raw_len += got;
		decoder->raw_eof = got == 0;
	}
}

void
ingest_decode_more(IngestDecoder *decoder)
{
	size_t		len = decoder->len;

	if (decoder->last)
		return;

	if (!decoder->bad)
	{
		make_room(decoder);
		if (OidIsValid(decoder->conversion))
			add_converted(decoder);
		else
			add_verified(decoder);
	}
	if (decoder->len == len && decoder->bad)
		report_bad_bytes(decoder);
}
