/*-------------------------------------------------------------------------
 *
 * convert_internal.h
 *		Readers of fields, between the files of the converter.
 *
 *		convert.c			the columns, and who reads them
 *		convert_number.c	integers, floating point, numeric
 *		convert_text.c		text, varchar, char(n), bool, uuid
 *		convert_datetime.c	date, time, timestamps
 *
 * A reader writes the value of a field straight into the tuple being formed;
 * nothing is allocated and no function manager call is made.  One that does
 * not recognise a field says so, and the type's input function gets it: signs
 * of trouble, special values, odd but legal spellings and all errors are the
 * server's.  A reader never raises an error and never gives another value
 * than the input function would.
 *
 * To do without loops and branches readers may look at INGEST_CSV_SLACK bytes
 * beyond a field, whose content must not matter, and may write CONVERT_SLACK
 * bytes beyond a value, which the next value overwrites.
 *
 * IDENTIFICATION
 *		src/convert_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_CONVERT_INTERNAL_H
#define INGEST_CONVERT_INTERNAL_H

#include "postgres.h"

#include "compat.h"
#include "csv.h"

/* What a reader may write beyond the content: padding, header, rounding. */
#define CONVERT_SLACK		32

/* What readers know about a column. */
typedef struct ConvertFormat
{
	bool		packable;		/* a varlena that may have a short header */
	bool		whole_seconds;	/* a fraction needs rounding to the typmod */
	int			max_chars;		/* of char(n) and varchar(n), or -1 */
	int			scale;			/* of numeric(p, s), or -1 */
	uint64		int_limit;		/* integer part of numeric(p, s) is below */
} ConvertFormat;

/*
 * Read the field s .. s + len and write the value at out, which is aligned
 * for the type (a varlena's reader aligns by itself).  Returns the first byte
 * after the value, or NULL if the field is not recognised.
 */
typedef char *(*ConvertReader) (const ConvertFormat *format, const char *s,
								size_t len, char *out);

/* in convert_number.c */
extern const uint64 ingest_power_of_ten[19];

/* Fill in numeric(p, s); returns false if no reader can have it. */
extern bool ingest_format_numeric(ConvertFormat *format, int32 typmod);
extern char *ingest_read_int2(const ConvertFormat *format, const char *s,
							  size_t len, char *out);
extern char *ingest_read_int4(const ConvertFormat *format, const char *s,
							  size_t len, char *out);
extern char *ingest_read_int8(const ConvertFormat *format, const char *s,
							  size_t len, char *out);
extern char *ingest_read_float4(const ConvertFormat *format, const char *s,
								size_t len, char *out);
extern char *ingest_read_float8(const ConvertFormat *format, const char *s,
								size_t len, char *out);
extern char *ingest_read_numeric(const ConvertFormat *format, const char *s,
								 size_t len, char *out);

/* in convert_text.c */
extern char *ingest_read_text(const ConvertFormat *format, const char *s,
							  size_t len, char *out);
extern char *ingest_read_bpchar(const ConvertFormat *format, const char *s,
								size_t len, char *out);
extern char *ingest_read_bool(const ConvertFormat *format, const char *s,
							  size_t len, char *out);
extern char *ingest_read_uuid(const ConvertFormat *format, const char *s,
							  size_t len, char *out);

/* in convert_datetime.c */
extern char *ingest_read_date(const ConvertFormat *format, const char *s,
							  size_t len, char *out);
extern char *ingest_read_time(const ConvertFormat *format, const char *s,
							  size_t len, char *out);
extern char *ingest_read_timestamp(const ConvertFormat *format, const char *s,
								   size_t len, char *out);
extern char *ingest_read_timestamptz(const ConvertFormat *format,
									 const char *s, size_t len, char *out);

/*
 * Write the header of a varlena with that many bytes of content and return
 * where these go.
 */
static inline char *
convert_put_header(const ConvertFormat *format, char *out, size_t len)
{
	if (likely(format->packable && len + VARHDRSZ_SHORT <= VARATT_SHORT_MAX))
	{
		SET_VARSIZE_SHORT(out, len + VARHDRSZ_SHORT);
		return out + VARHDRSZ_SHORT;
	}
	while ((uintptr_t) out % ALIGNOF_INT != 0)
		*out++ = 0;
	SET_VARSIZE(out, len + VARHDRSZ);
	return out + VARHDRSZ;
}

/*
 * One to eight digits to a number; false if others are among them.  They are
 * put into one word, with leading zeros; then pairs, fours and eights are
 * summed within the word.
 */
static inline bool
convert_eight_digits(const char *s, size_t len, uint64 *value)
{
	uint64		word;

	Assert(len >= 1 && len <= 8);
#ifdef WORDS_BIGENDIAN
	word = 0;
	for (size_t i = 0; i < len; i++)
	{
		unsigned int digit = (unsigned char) s[i] - '0';

		if (digit > 9)
			return false;
		word = word * 10 + digit;
	}
	*value = word;
#else
	memcpy(&word, s, sizeof(word));
	word <<= 64 - 8 * len;
	word |= (UINT64CONST(0x3030303030303030) >> (8 * (len - 1))) >> 8;
	if (((word & UINT64CONST(0xF0F0F0F0F0F0F0F0)) |
		 (((word + UINT64CONST(0x0606060606060606)) &
		   UINT64CONST(0xF0F0F0F0F0F0F0F0)) >> 4)) !=
		UINT64CONST(0x3333333333333333))
		return false;
	word -= UINT64CONST(0x3030303030303030);
	word = word * 10 + (word >> 8);
	word = (((word & UINT64CONST(0x000000FF000000FF)) *
			 UINT64CONST(0x000F424000000064)) +
			(((word >> 16) & UINT64CONST(0x000000FF000000FF)) *
			 UINT64CONST(0x0000271000000001))) >> 32;
	*value = word;
#endif
	return true;
}

/* The same for 9 to 18 digits; in convert_number.c. */
extern bool ingest_read_long_digits(const char *s, size_t len, uint64 *value);

/*
 * One to 18 digits to a number; false if there are none, more, or others.
 */
static inline bool
convert_digits(const char *s, size_t len, uint64 *value)
{
	if (likely(len - 1 < 8))
		return convert_eight_digits(s, len, value);
	return ingest_read_long_digits(s, len, value);
}

#endif							/* INGEST_CONVERT_INTERNAL_H */
