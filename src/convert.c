/*-------------------------------------------------------------------------
 *
 * convert.c
 *		Fields to the bytes of a heap tuple.
 *
 * Most fields of most files are plain numbers, words and ISO dates.  For the
 * common types a reader here recognises these and writes the value straight
 * into the tuple being formed; nothing is allocated and no function manager
 * call is made.  A reader that does not recognise a field says so, and the
 * type's input function gets it: signs of trouble, special values, odd but
 * legal spellings and all errors are the server's.  A reader never raises an
 * error and never gives another value than the input function would.
 *
 * Layout is that of heap_fill_tuple() (heaptuple.c): alignment padding is
 * zeroed, a varlena that is not PLAIN and fits gets a one-byte header, and
 * nothing is compressed or moved out of line (that is TOAST's work, later).
 *
 * Fields are in the server's encoding and known to be valid in it.
 *
 * IDENTIFICATION
 *		src/convert.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "pgtime.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "compat.h"
#include "convert.h"

typedef struct ConvertColumn ConvertColumn;

/*
 * Read the field s .. s + len and write the value at out, which is aligned
 * for the type (a varlena's reader aligns by itself).  Returns the first byte
 * after the value, or NULL if the field is not recognised.
 */
typedef char *(*FieldReader) (const ConvertColumn *column, const char *s,
							  size_t len, char *out);

struct ConvertColumn
{
	FieldReader read;			/* NULL: always the input function */
	uint8		align;			/* in bytes, 1 for a varlena with a reader */
	bool		varwidth;
	bool		packable;		/* may have a one-byte header */
	int			max_chars;		/* of char(n) and varchar(n), or -1 */
	int			scale;			/* of numeric(p, s), or -1 */
	uint64		int_limit;		/* integer part of numeric(p, s) is below */
	bool		whole_seconds;	/* a fraction needs rounding to the typmod */

	Form_pg_attribute att;
	FmgrInfo	input;
	Oid			typioparam;
};

struct IngestConverter
{
	int			natts;
	Size		fixed_size;		/* bound of a row without its fields' bytes */
	int			current;		/* column whose input function runs, or 0 */
	const char *current_value;
	ConvertColumn columns[FLEXIBLE_ARRAY_MEMBER];
};

/* Largest value of an alignment, and header and rounding of any reader. */
#define COLUMN_OVERHEAD		32

static const uint64 power_of_ten[19] = {
	UINT64CONST(1), UINT64CONST(10), UINT64CONST(100), UINT64CONST(1000),
	UINT64CONST(10000), UINT64CONST(100000), UINT64CONST(1000000),
	UINT64CONST(10000000), UINT64CONST(100000000), UINT64CONST(1000000000),
	UINT64CONST(10000000000), UINT64CONST(100000000000),
	UINT64CONST(1000000000000), UINT64CONST(10000000000000),
	UINT64CONST(100000000000000), UINT64CONST(1000000000000000),
	UINT64CONST(10000000000000000), UINT64CONST(100000000000000000),
	UINT64CONST(1000000000000000000)
};

/* ------------------------------------------------------------------------
 * Digits
 * ------------------------------------------------------------------------
 */

#ifndef WORDS_BIGENDIAN
/*
 * One to eight bytes as the high bytes of a word, zero below, without a loop
 * and without a look past their end: loads may overlap.
 */
static inline uint64
load_high(const char *s, size_t len)
{
	int			shift = (int) (64 - 8 * len);

	if (len == 8)
	{
		uint64		word;

		memcpy(&word, s, sizeof(word));
		return word;
	}
	if (len >= 4)
	{
		uint32		low;
		uint32		high;

		memcpy(&low, s, sizeof(low));
		memcpy(&high, s + len - sizeof(high), sizeof(high));
		return (uint64) high << 32 | (uint64) low << shift;
	}
	return (uint64) (unsigned char) s[0] << shift |
		(uint64) (unsigned char) s[len / 2] << (shift + 8 * (len / 2)) |
		(uint64) (unsigned char) s[len - 1] << 56;
}
#endif

/*
 * Up to eight digits to a number.  They are put into one word, with leading
 * zeros; then pairs, fours and eights are summed within the word.
 */
static inline bool
read_eight_digits(const char *s, size_t len, uint64 *value)
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
	word = load_high(s, len) |
		(len < 8 ? UINT64CONST(0x3030303030303030) >> (8 * len) : 0);
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

/*
 * One to 18 digits to a number; false if there are none, more, or others.
 */
static inline bool
read_digits(const char *s, size_t len, uint64 *value)
{
	uint64		high;
	uint64		low;

	if (len - 1 < 8)
		return read_eight_digits(s, len, value);
	if (len - 1 >= 18)
		return false;

	*value = 0;
	if (len > 16)
	{
		if (!read_eight_digits(s, len - 16, value))
			return false;
		s += len - 16;
		len = 16;
	}
	if (!read_eight_digits(s, len - 8, &high) ||
		!read_eight_digits(s + len - 8, 8, &low))
		return false;
	*value = *value * power_of_ten[16] + high * power_of_ten[8] + low;
	return true;
}

/* Exactly two digits, at most max; -1 if they are not. */
static inline int
read_two_digits(const char *s, int max)
{
	unsigned int tens = (unsigned char) s[0] - '0';
	unsigned int ones = (unsigned char) s[1] - '0';
	int			value = (int) (tens * 10 + ones);

	return tens <= 9 && ones <= 9 && value <= max ? value : -1;
}

/* Skip a sign. */
static inline bool
read_sign(const char **s, size_t *len)
{
	bool		negative = **s == '-';

	if (*len > 0 && (negative || **s == '+'))
	{
		(*s)++;
		(*len)--;
		return negative;
	}
	return false;
}

/* [+-]digits that fit into a signed integer of max + 1 values a side. */
static inline bool
read_integer(const char *s, size_t len, uint64 max, int64 *value)
{
	bool		negative = read_sign(&s, &len);
	uint64		magnitude;

	if (!read_digits(s, len, &magnitude) ||
		magnitude > max + (negative ? 1 : 0))
		return false;
	*value = negative ? -(int64) magnitude : (int64) magnitude;
	return true;
}

/* ------------------------------------------------------------------------
 * Numbers
 * ------------------------------------------------------------------------
 */

static char *
read_int2(const ConvertColumn *column, const char *s, size_t len, char *out)
{
	int64		value;

	(void) column;
	if (!read_integer(s, len, PG_INT16_MAX, &value))
		return NULL;
	*(int16 *) out = (int16) value;
	return out + sizeof(int16);
}

static char *
read_int4(const ConvertColumn *column, const char *s, size_t len, char *out)
{
	int64		value;

	(void) column;
	if (!read_integer(s, len, PG_INT32_MAX, &value))
		return NULL;
	*(int32 *) out = (int32) value;
	return out + sizeof(int32);
}

static char *
read_int8(const ConvertColumn *column, const char *s, size_t len, char *out)
{
	int64		value;

	(void) column;
	if (!read_integer(s, len, PG_INT64_MAX, &value))
		return NULL;
	*(int64 *) out = value;
	return out + sizeof(int64);
}

/*
 * [+-]digits[.digits]: the parts before and after the point, of at most 18
 * digits together.  No fraction means no point either.
 */
static inline bool
read_decimal(const char *s, size_t len, bool *negative,
			 uint64 *whole, uint64 *fraction, int *fraction_len)
{
	const char *point;
	size_t		whole_len;

	*negative = read_sign(&s, &len);
	if (len > 19)
		return false;
	for (point = s; point < s + len && *point != '.'; point++)
		;
	whole_len = point - s;
	*fraction = 0;
	*fraction_len = 0;
	if (whole_len < len)
	{
		*fraction_len = (int) (len - whole_len - 1);
		if (!read_digits(point + 1, *fraction_len, fraction))
			return false;
	}
	return whole_len + *fraction_len <= 18 &&
		read_digits(s, whole_len, whole);
}

/*
 * A decimal whose digits are an integer that float8 holds exactly is that
 * integer divided by an exact power of ten: one rounding, so the result is
 * the nearest float8, which is what strtod() gives.
 */
static char *
read_float8(const ConvertColumn *column, const char *s, size_t len, char *out)
{
	bool		negative;
	uint64		whole;
	uint64		fraction;
	int			fraction_len;
	float8		value;

	(void) column;
	if (!read_decimal(s, len, &negative, &whole, &fraction, &fraction_len))
		return NULL;
	whole = whole * power_of_ten[fraction_len] + fraction;
	if (whole > UINT64CONST(1) << DBL_MANT_DIG)
		return NULL;
	value = (float8) whole;
	if (fraction_len > 0)
		value /= (float8) power_of_ten[fraction_len];
	*(float8 *) out = negative ? -value : value;
	return out + sizeof(float8);
}

/* The same for float4; ten is exact in it up to its tenth power. */
static char *
read_float4(const ConvertColumn *column, const char *s, size_t len, char *out)
{
	bool		negative;
	uint64		whole;
	uint64		fraction;
	int			fraction_len;
	float4		value;

	(void) column;
	if (!read_decimal(s, len, &negative, &whole, &fraction, &fraction_len) ||
		fraction_len > 10)
		return NULL;
	whole = whole * power_of_ten[fraction_len] + fraction;
	if (whole > UINT64CONST(1) << FLT_MANT_DIG)
		return NULL;
	value = (float4) whole;
	if (fraction_len > 0)
		value /= (float4) power_of_ten[fraction_len];
	*(float4 *) out = negative ? -value : value;
	return out + sizeof(float4);
}

/* ------------------------------------------------------------------------
 * Varlenas
 * ------------------------------------------------------------------------
 */

/*
 * Write the header of a varlena with that many bytes of content and return
 * where these go.
 */
static inline char *
put_header(const ConvertColumn *column, char *out, size_t len)
{
	if (column->packable && len + VARHDRSZ_SHORT <= VARATT_SHORT_MAX)
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
 * Numeric in its short form: a header of sign, display scale and weight, then
 * digits in base 10000 without zeros at either end (numeric.c, "Numeric
 * short").  With a typmod, only what needs no rounding and fits.
 */
static char *
read_numeric(const ConvertColumn *column, const char *s, size_t len,
			 char *out)
{
	bool		negative;
	uint64		whole;
	uint64		fraction;
	int			fraction_len;
	int16		digits[12];		/* 5 of the integer part, then 5 */
	int			first = 5;		/* in use: first .. last - 1 */
	int			last = 5;
	int			scale;
	uint16		header;
	int			weight;

	if (!read_decimal(s, len, &negative, &whole, &fraction, &fraction_len))
		return NULL;

	scale = fraction_len;
	if (column->scale >= 0)
	{
		if (fraction_len > column->scale || whole >= column->int_limit)
			return NULL;
		scale = column->scale;
	}

	while (whole > 0)
	{
		digits[--first] = (int16) (whole % 10000);
		whole /= 10000;
	}
	if (fraction > 0)
	{
		int			ndigits = (fraction_len + 3) / 4;

		/* 18 digits take five places, of which the last holds two */
		if (ndigits == 5)
		{
			int			missing = 4 * ndigits - fraction_len;

			digits[last + 4] = (int16) (fraction %
										power_of_ten[4 - missing] *
										power_of_ten[missing]);
			fraction /= power_of_ten[4 - missing];
		}
		else
			fraction *= power_of_ten[4 * ndigits - fraction_len];
		for (int i = (ndigits == 5 ? 4 : ndigits) - 1; i >= 0; i--)
		{
			digits[last + i] = (int16) (fraction % 10000);
			fraction /= 10000;
		}
		last += ndigits;
	}
	weight = 4 - first;
	while (first < last && digits[first] == 0)
	{
		first++;
		weight--;
	}
	while (last > first && digits[last - 1] == 0)
		last--;
	if (first == last)
	{
		weight = 0;
		negative = false;
	}

	header = 0x8000 | (negative ? 0x2000 : 0) | (scale << 7) |
		(weight < 0 ? 0x0040 : 0) | (weight & 0x003F);
	len = (last - first) * sizeof(int16);
	out = put_header(column, out, sizeof(header) + len);
	memcpy(out, &header, sizeof(header));
	memcpy(out + sizeof(header), &digits[first], len);
	return out + sizeof(header) + len;
}

/* Short copies without a call. */
static inline char *
put_bytes(char *out, const char *s, size_t len)
{
	memcpy(out, s, len);
	return out + len;
}

static inline bool
is_ascii(const char *s, size_t len)
{
	while (len >= sizeof(uint64))
	{
		uint64		word;

		memcpy(&word, s, sizeof(word));
		if (word & UINT64CONST(0x8080808080808080))
			return false;
		s += sizeof(uint64);
		len -= sizeof(uint64);
	}
	for (size_t i = 0; i < len; i++)
		if (IS_HIGHBIT_SET(s[i]))
			return false;
	return true;
}

/* text, and varchar where it certainly fits */
static char *
read_text(const ConvertColumn *column, const char *s, size_t len, char *out)
{
	/* bytes are never fewer than characters */
	if (column->max_chars >= 0 && len > (size_t) column->max_chars)
		return NULL;
	return put_bytes(put_header(column, out, len), s, len);
}

/* char(n): padded to n characters */
static char *
read_bpchar(const ConvertColumn *column, const char *s, size_t len, char *out)
{
	if (column->max_chars < 0)
		return read_text(column, s, len, out);
	if (len > (size_t) column->max_chars || !is_ascii(s, len))
		return NULL;
	out = put_bytes(put_header(column, out, column->max_chars), s, len);
	memset(out, ' ', column->max_chars - len);
	return out + column->max_chars - len;
}

/* ------------------------------------------------------------------------
 * Others
 * ------------------------------------------------------------------------
 */

static char *
read_bool(const ConvertColumn *column, const char *s, size_t len, char *out)
{
	(void) column;
	if (len == 1)
	{
		if (*s == 't' || *s == '1' || *s == 'y')
			*out = true;
		else if (*s == 'f' || *s == '0' || *s == 'n')
			*out = false;
		else
			return NULL;
	}
	else if (len == 4 && memcmp(s, "true", 4) == 0)
		*out = true;
	else if (len == 5 && memcmp(s, "false", 5) == 0)
		*out = false;
	else
		return NULL;
	return out + 1;
}

/*
 * yyyy-mm-dd, which means the same in every DateStyle (DecodeNumber() takes a
 * first number of three digits or more for the year).
 */
static bool
read_ymd(const char *s, struct pg_tm *tm)
{
	int			century = read_two_digits(s, 99);
	int			year = read_two_digits(s + 2, 99);

	if (century < 0 || year < 0 || s[4] != '-' || s[7] != '-')
		return false;
	tm->tm_year = century * 100 + year;
	tm->tm_mon = read_two_digits(s + 5, MONTHS_PER_YEAR);
	tm->tm_mday = read_two_digits(s + 8, 31);
	return tm->tm_year > 0 && tm->tm_mon > 0 && tm->tm_mday > 0 &&
		tm->tm_mday <= day_tab[isleap(tm->tm_year)][tm->tm_mon - 1];
}

/*
 * hh:mm:ss[.ffffff] at the start of s; the number of bytes, or 0.
 */
static size_t
read_hms(const ConvertColumn *column, const char *s, size_t len,
		 struct pg_tm *tm, int *microseconds)
{
	size_t		n = 8;

	*microseconds = 0;
	if (len < n || s[2] != ':' || s[5] != ':')
		return 0;
	tm->tm_hour = read_two_digits(s, HOURS_PER_DAY - 1);
	tm->tm_min = read_two_digits(s + 3, MINS_PER_HOUR - 1);
	tm->tm_sec = read_two_digits(s + 6, SECS_PER_MINUTE - 1);
	if (tm->tm_hour < 0 || tm->tm_min < 0 || tm->tm_sec < 0)
		return 0;
	if (n < len && s[n] == '.')
	{
		size_t		start = ++n;
		uint64		fraction;

		while (n < len && s[n] >= '0' && s[n] <= '9')
			n++;
		if (column->whole_seconds || n - start > 6 ||
			!read_digits(s + start, n - start, &fraction))
			return 0;
		*microseconds = (int) (fraction * power_of_ten[6 - (n - start)]);
	}
	return n;
}

static inline int64
time_of_day(const struct pg_tm *tm, int microseconds)
{
	return (((tm->tm_hour * MINS_PER_HOUR + tm->tm_min) * SECS_PER_MINUTE) +
			tm->tm_sec) * USECS_PER_SEC + microseconds;
}

static inline int
day_number(const struct pg_tm *tm)
{
	return date2j(tm->tm_year, tm->tm_mon, tm->tm_mday) -
		POSTGRES_EPOCH_JDATE;
}

static char *
read_date(const ConvertColumn *column, const char *s, size_t len, char *out)
{
	struct pg_tm tm;

	(void) column;
	if (len != 10 || !read_ymd(s, &tm))
		return NULL;
	*(DateADT *) out = day_number(&tm);
	return out + sizeof(DateADT);
}

static char *
read_time(const ConvertColumn *column, const char *s, size_t len, char *out)
{
	struct pg_tm tm;
	int			microseconds;

	if (len < 8 || read_hms(column, s, len, &tm, &microseconds) != len)
		return NULL;
	*(TimeADT *) out = time_of_day(&tm, microseconds);
	return out + sizeof(TimeADT);
}

/*
 * yyyy-mm-dd[( |T)hh:mm:ss[.ffffff]]; returns the number of bytes, or 0.
 */
static size_t
read_date_time(const ConvertColumn *column, const char *s, size_t len,
			   struct pg_tm *tm, Timestamp *result)
{
	int			microseconds = 0;
	size_t		n = 10;

	if (len < n || !read_ymd(s, tm))
		return 0;
	tm->tm_hour = tm->tm_min = tm->tm_sec = 0;
	if (len > n)
	{
		size_t		time_len;

		if (s[n] != ' ' && s[n] != 'T')
			return 0;
		n++;
		time_len = read_hms(column, s + n, len - n, tm, &microseconds);
		if (time_len == 0)
			return 0;
		n += time_len;
	}
	*result = day_number(tm) * USECS_PER_DAY + time_of_day(tm, microseconds);
	return n;
}

static char *
read_timestamp(const ConvertColumn *column, const char *s, size_t len,
			   char *out)
{
	struct pg_tm tm;

	if (len < 10 ||
		read_date_time(column, s, len, &tm, (Timestamp *) out) != len)
		return NULL;
	return out + sizeof(Timestamp);
}

/* With Z, +hh, -hh, +hh:mm, -hh:mm, or the session's time zone. */
static char *
read_timestamptz(const ConvertColumn *column, const char *s, size_t len,
				 char *out)
{
	struct pg_tm tm;
	Timestamp	local;
	size_t		n;
	int			west;			/* seconds, as DecodeTimezone() has it */

	n = read_date_time(column, s, len, &tm, &local);
	if (n == 0)
		return NULL;
	s += n;
	len -= n;
	if (len == 0)
	{
		tm.tm_isdst = -1;
		west = DetermineTimeZoneOffset(&tm, session_timezone);
	}
	else if (len == 1 && *s == 'Z' && n > 10)
		west = 0;
	else if ((*s == '+' || *s == '-') && n > 10 &&
			 (len == 3 || (len == 6 && s[3] == ':')))
	{
		int			hours = read_two_digits(s + 1, 14);
		int			minutes = len == 6 ?
			read_two_digits(s + 4, MINS_PER_HOUR - 1) : 0;

		if (hours < 0 || minutes < 0)
			return NULL;
		west = (hours * MINS_PER_HOUR + minutes) * SECS_PER_MINUTE;
		if (*s == '+')
			west = -west;
	}
	else
		return NULL;
	*(TimestampTz *) out = local + west * USECS_PER_SEC;
	return out + sizeof(TimestampTz);
}

static inline int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* 8-4-4-4-12 hexadecimal digits */
static char *
read_uuid(const ConvertColumn *column, const char *s, size_t len, char *out)
{
	(void) column;
	if (len != 36)
		return NULL;
	for (int i = 0; i < UUID_LEN; i++)
	{
		int			high;
		int			low;

		if ((i == 4 || i == 6 || i == 8 || i == 10) && *s++ != '-')
			return NULL;
		high = hex_value(s[0]);
		low = hex_value(s[1]);
		if (high < 0 || low < 0)
			return NULL;
		out[i] = (char) (high << 4 | low);
		s += 2;
	}
	return out + UUID_LEN;
}

/* ------------------------------------------------------------------------
 * Columns
 * ------------------------------------------------------------------------
 */

static uint8
alignment_bytes(char attalign)
{
	switch (attalign)
	{
		case TYPALIGN_CHAR:
			return 1;
		case TYPALIGN_SHORT:
			return ALIGNOF_SHORT;
		case TYPALIGN_INT:
			return ALIGNOF_INT;
		default:
			return ALIGNOF_DOUBLE;
	}
}

/*
 * numeric(p, s): what fits without rounding.  A negative scale, and a
 * precision whose limit does not fit the table, leave no reader.
 */
static void
init_numeric(ConvertColumn *column, int32 typmod)
{
	int			precision;
	int			scale;

	column->read = read_numeric;
	column->scale = -1;
	if (typmod < (int32) VARHDRSZ)
		return;
	precision = ((typmod - VARHDRSZ) >> 16) & 0xFFFF;
	scale = (((typmod - VARHDRSZ) & 0x7FF) ^ 1024) - 1024;
	if (scale < 0 || scale > 63 || precision < scale)
	{
		column->read = NULL;
		return;
	}
	column->scale = scale;
	column->int_limit = precision - scale > 18 ?
		PG_UINT64_MAX : power_of_ten[precision - scale];
}

/* Choose the reader for a column, by its type. */
static void
init_reader(ConvertColumn *column)
{
	Form_pg_attribute att = column->att;

	column->max_chars = -1;
	column->scale = -1;
	switch (att->atttypid)
	{
		case INT2OID:
			column->read = read_int2;
			break;
		case INT4OID:
			column->read = read_int4;
			break;
		case INT8OID:
			column->read = read_int8;
			break;
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
		case FLOAT4OID:
			column->read = read_float4;
			break;
		case FLOAT8OID:
			column->read = read_float8;
			break;
#endif
		case NUMERICOID:
			init_numeric(column, att->atttypmod);
			break;
		case TEXTOID:
			column->read = read_text;
			break;
		case VARCHAROID:
			column->read = read_text;
			if (att->atttypmod >= (int32) VARHDRSZ)
				column->max_chars = att->atttypmod - VARHDRSZ;
			break;
		case BPCHAROID:
			column->read = read_bpchar;
			if (att->atttypmod >= (int32) VARHDRSZ)
				column->max_chars = att->atttypmod - VARHDRSZ;
			break;
		case BOOLOID:
			column->read = read_bool;
			break;
		case DATEOID:
			column->read = read_date;
			break;
		case TIMEOID:
			column->read = read_time;
			break;
		case TIMESTAMPOID:
			column->read = read_timestamp;
			break;
		case TIMESTAMPTZOID:
			column->read = read_timestamptz;
			break;
		case UUIDOID:
			column->read = read_uuid;
			break;
		default:
			column->read = NULL;
			break;
	}
	column->whole_seconds = att->atttypmod >= 0 &&
		att->atttypmod < MAX_TIMESTAMP_PRECISION;
}

/*
 * Make a converter for rows of that descriptor, which must outlive it, as
 * CurrentMemoryContext does.
 */
IngestConverter *
ingest_convert_begin(TupleDesc desc)
{
	IngestConverter *converter;

	converter = palloc0(offsetof(IngestConverter, columns) +
						desc->natts * sizeof(ConvertColumn));
	converter->natts = desc->natts;
	for (int i = 0; i < desc->natts; i++)
	{
		ConvertColumn *column = &converter->columns[i];
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Oid			input;

		column->att = att;
		converter->fixed_size += COLUMN_OVERHEAD;
		if (att->attisdropped)
			continue;
		getTypeInputInfo(att->atttypid, &input, &column->typioparam);
		fmgr_info(input, &column->input);
		init_reader(column);
		column->varwidth = att->attlen < 0;
		column->align = column->varwidth ? 1 : alignment_bytes(att->attalign);
		column->packable = att->attlen == -1 &&
			att->attstorage != TYPSTORAGE_PLAIN;
		if (att->atttypid == BPCHAROID && column->max_chars > 0)
			converter->fixed_size += column->max_chars;
	}
	return converter;
}

/*
 * Whether a worker may call the column's input function: it is marked so, and
 * the type is not a domain with constraints, which may be any expression.
 */
bool
ingest_convert_parallel_safe(TupleDesc desc, int attnum)
{
	Form_pg_attribute att = TupleDescAttr(desc, attnum - 1);
	Oid			input;
	Oid			typioparam;

	if (att->attisdropped)
		return true;
	getTypeInputInfo(att->atttypid, &input, &typioparam);
	if (get_typtype(att->atttypid) == TYPTYPE_DOMAIN)
	{
		if (DomainHasConstraintsCompat(att->atttypid))
			return false;
		getTypeInputInfo(getBaseType(att->atttypid), &input, &typioparam);
	}
	return func_parallel(input) == PROPARALLEL_SAFE;
}

IngestRow *
ingest_row_create(int natts)
{
	IngestRow  *row = palloc0(sizeof(IngestRow));

	row->context = CurrentMemoryContext;
	row->size = 1024;
	row->data = palloc(row->size);
	row->isnull = palloc0(Max(natts, 1) * sizeof(bool));
	row->offset = palloc0(Max(natts, 1) * sizeof(uint32));
	return row;
}

/* Have room for needed bytes altogether. */
static void
enlarge_row(IngestRow *row, Size needed)
{
	Size		size = row->size;

	if (needed <= size)
		return;
	while (size < needed)
		size *= 2;
	row->data = repalloc_huge(row->data, size);
	row->size = size;
}

static inline void
empty_row(IngestRow *row)
{
	row->natts = 0;
	row->len = 0;
	row->has_null = false;
	row->infomask = 0;
}

void
ingest_convert_start(IngestConverter *converter, IngestRow *row,
					 size_t record_len)
{
	empty_row(row);
	row->reserve = converter->fixed_size + record_len;
	enlarge_row(row, row->reserve);
}

static inline void
append_null(IngestRow *row)
{
	row->isnull[row->natts++] = true;
	row->has_null = true;
	row->infomask |= HEAP_HASNULL;
}

/* Zero bytes up to the next multiple of align. */
static inline void
align_row(IngestRow *row, Size align)
{
	while (row->len % align != 0)
		row->data[row->len++] = 0;
}

/*
 * Append a varlena value as heap_fill_tuple() would.  A value out of line or
 * expanded is fetched first: what comes from an input function, a default or
 * a generated column goes through TOAST anew.
 */
static void
append_varlena(IngestRow *row, Form_pg_attribute att, Datum value)
{
	struct varlena *v = (struct varlena *) DatumGetPointer(value);
	Size		len;

	if (VARATT_IS_EXTERNAL(v))
		v = VARATT_IS_EXTERNAL_EXPANDED(v) ?
			PG_DETOAST_DATUM_COPY(value) : detoast_external_attr(v);
	len = VARSIZE_ANY(v);
	enlarge_row(row, row->len + len + COLUMN_OVERHEAD);
	if (VARATT_IS_SHORT(v))
	{
		row->offset[row->natts] = row->len;
		memcpy(row->data + row->len, v, len);
	}
	else if (att->attstorage != TYPSTORAGE_PLAIN && VARATT_CAN_MAKE_SHORT(v))
	{
		row->offset[row->natts] = row->len;
		len = VARATT_CONVERTED_SHORT_SIZE(v);
		SET_VARSIZE_SHORT(row->data + row->len, len);
		memcpy(row->data + row->len + VARHDRSZ_SHORT, VARDATA(v),
			   len - VARHDRSZ_SHORT);
	}
	else
	{
		align_row(row, alignment_bytes(att->attalign));
		row->offset[row->natts] = row->len;
		memcpy(row->data + row->len, v, len);
	}
	row->len += len;
	row->infomask |= HEAP_HASVARWIDTH;
}

void
ingest_row_append(IngestRow *row, Form_pg_attribute att, Datum value,
				  bool isnull)
{
	Size		len;

	if (isnull)
	{
		append_null(row);
		return;
	}
	row->isnull[row->natts] = false;
	if (att->attlen == -1)
	{
		append_varlena(row, att, value);
		row->natts++;
		return;
	}

	len = att->attlen == -2 ? strlen(DatumGetCString(value)) + 1 :
		(size_t) att->attlen;
	enlarge_row(row, row->len + len + COLUMN_OVERHEAD);
	align_row(row, alignment_bytes(att->attalign));
	row->offset[row->natts++] = row->len;
	if (att->attbyval)
		store_att_byval(row->data + row->len, value, att->attlen);
	else
		memcpy(row->data + row->len, DatumGetPointer(value), len);
	row->len += len;
	if (att->attlen == -2)
		row->infomask |= HEAP_HASVARWIDTH;
}

Datum
ingest_convert_call(IngestConverter *converter, int attnum, IngestField field)
{
	ConvertColumn *column = &converter->columns[attnum - 1];
	char	   *string = NULL;
	Datum		value;

	if (field.data != NULL)
		string = pnstrdup(field.data, field.len);
	converter->current = attnum;
	converter->current_value = string;
	value = InputFunctionCall(&column->input, string, column->typioparam,
							  column->att->atttypmod);
	converter->current = 0;
	return value;
}

/*
 * Append a field through its input function, keeping the room that
 * ingest_convert_start() made for the rest of the record.
 */
static void
append_by_input(IngestConverter *converter, IngestRow *row, int attnum,
				IngestField field)
{
	Datum		value = ingest_convert_call(converter, attnum, field);

	ingest_row_append(row, converter->columns[attnum - 1].att, value,
					  field.data == NULL);
	enlarge_row(row, row->len + row->reserve);
}

void
ingest_convert_field(IngestConverter *converter, IngestRow *row, int attnum,
					 IngestField field)
{
	ConvertColumn *column = &converter->columns[attnum - 1];
	char	   *out;

	Assert(row->natts == attnum - 1);
	if (field.data == NULL)
	{
		/* a domain may object */
		if (!column->input.fn_strict)
			(void) ingest_convert_call(converter, attnum, field);
		append_null(row);
		return;
	}
	if (column->read == NULL)
	{
		append_by_input(converter, row, attnum, field);
		return;
	}

	align_row(row, column->align);
	out = column->read(column, field.data, field.len, row->data + row->len);
	if (unlikely(out == NULL))
	{
		append_by_input(converter, row, attnum, field);
		return;
	}

	/* a four-byte header begins past its padding, which is zero */
	if (column->varwidth)
	{
		if (row->data[row->len] == 0)
			align_row(row, ALIGNOF_INT);
		row->infomask |= HEAP_HASVARWIDTH;
	}
	row->isnull[row->natts] = false;
	row->offset[row->natts++] = row->len;
	row->len = out - row->data;
}

int
ingest_convert_current(const IngestConverter *converter, const char **field)
{
	*field = converter->current_value;
	return converter->current;
}

/* ------------------------------------------------------------------------
 * Rows and slots
 * ------------------------------------------------------------------------
 */

void
ingest_row_from_slot(IngestRow *row, TupleTableSlot *slot)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;

	slot_getallattrs(slot);
	empty_row(row);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		ingest_row_append(row, att, slot->tts_values[i],
						  slot->tts_isnull[i] || att->attisdropped);
	}
}

/*
 * The slot's descriptor is the row's.  The slot is good as long as the row is
 * not changed.
 */
void
ingest_row_to_slot(const IngestRow *row, TupleTableSlot *slot)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;

	ExecClearTuple(slot);
	for (int i = 0; i < desc->natts; i++)
	{
		slot->tts_isnull[i] = row->isnull[i];
		slot->tts_values[i] = row->isnull[i] ? (Datum) 0 :
			fetchatt(TupleDescAttr(desc, i), row->data + row->offset[i]);
	}
	ExecStoreVirtualTuple(slot);
}
