/*-------------------------------------------------------------------------
 *
 * convert_number.c
 *		Readers of numbers.
 *
 * IDENTIFICATION
 *		src/convert_number.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>

#include "port/pg_bitutils.h"

#include "convert_internal.h"

const uint64 ingest_power_of_ten[19] = {
	UINT64CONST(1), UINT64CONST(10), UINT64CONST(100), UINT64CONST(1000),
	UINT64CONST(10000), UINT64CONST(100000), UINT64CONST(1000000),
	UINT64CONST(10000000), UINT64CONST(100000000), UINT64CONST(1000000000),
	UINT64CONST(10000000000), UINT64CONST(100000000000),
	UINT64CONST(1000000000000), UINT64CONST(10000000000000),
	UINT64CONST(100000000000000), UINT64CONST(1000000000000000),
	UINT64CONST(10000000000000000), UINT64CONST(100000000000000000),
	UINT64CONST(1000000000000000000)
};

bool
ingest_read_long_digits(const char *s, size_t len, uint64 *value)
{
	uint64		high;
	uint64		low;

	if (len < 9 || len > 18)
		return false;

	*value = 0;
	if (len > 16)
	{
		if (!convert_eight_digits(s, len - 16, value))
			return false;
		s += len - 16;
		len = 16;
	}
	if (!convert_eight_digits(s, len - 8, &high) ||
		!convert_eight_digits(s + len - 8, 8, &low))
		return false;
	*value = *value * ingest_power_of_ten[16] +
		high * ingest_power_of_ten[8] + low;
	return true;
}

/* ------------------------------------------------------------------------
 * Integers
 * ------------------------------------------------------------------------
 */

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

	if (!convert_digits(s, len, &magnitude) ||
		magnitude > max + (negative ? 1 : 0))
		return false;
	*value = negative ? -(int64) magnitude : (int64) magnitude;
	return true;
}

char *
ingest_read_int2(const ConvertFormat *format, const char *s, size_t len,
				 char *out)
{
	int64		value;

	(void) format;
	if (!read_integer(s, len, PG_INT16_MAX, &value))
		return NULL;
	*(int16 *) out = (int16) value;
	return out + sizeof(int16);
}

char *
ingest_read_int4(const ConvertFormat *format, const char *s, size_t len,
				 char *out)
{
	int64		value;

	(void) format;
	if (!read_integer(s, len, PG_INT32_MAX, &value))
		return NULL;
	*(int32 *) out = (int32) value;
	return out + sizeof(int32);
}

char *
ingest_read_int8(const ConvertFormat *format, const char *s, size_t len,
				 char *out)
{
	int64		value;

	(void) format;
	if (!read_integer(s, len, PG_INT64_MAX, &value))
		return NULL;
	*(int64 *) out = value;
	return out + sizeof(int64);
}

/* ------------------------------------------------------------------------
 * Decimals
 * ------------------------------------------------------------------------
 */

/*
 * Where a field's first point is; len if there is none.
 */
static inline size_t
find_point(const char *s, size_t len)
{
	size_t		pos = 0;

#ifndef WORDS_BIGENDIAN
	for (; pos < len; pos += sizeof(uint64))
	{
		uint64		word;
		uint64		hits;

		/* the lowest byte that becomes zero is marked, if there is one */
		memcpy(&word, s + pos, sizeof(word));
		word ^= UINT64CONST(0x2E2E2E2E2E2E2E2E);
		hits = (word - UINT64CONST(0x0101010101010101)) & ~word &
			UINT64CONST(0x8080808080808080);
		if (hits != 0)
			return Min(len, pos + pg_rightmost_one_pos64(hits) / 8);
	}
	return len;
#else
	while (pos < len && s[pos] != '.')
		pos++;
	return pos;
#endif
}

/*
 * [+-]digits[.digits]: the parts before and after the point, of at most 18
 * digits together.  No fraction means no point either.
 */
static inline bool
read_decimal(const char *s, size_t len, bool *negative,
			 uint64 *whole, uint64 *fraction, int *fraction_len)
{
	size_t		whole_len;

	*negative = read_sign(&s, &len);
	if (len > 19)
		return false;
	whole_len = find_point(s, len);
	*fraction = 0;
	*fraction_len = 0;
	if (whole_len < len)
	{
		*fraction_len = (int) (len - whole_len - 1);
		if (!convert_digits(s + whole_len + 1, *fraction_len, fraction))
			return false;
	}
	return whole_len + *fraction_len <= 18 &&
		convert_digits(s, whole_len, whole);
}

/*
 * A decimal whose digits are an integer that float8 holds exactly is that
 * integer divided by an exact power of ten: one rounding, so the result is
 * the nearest float8, which is what strtod() gives.
 */
char *
ingest_read_float8(const ConvertFormat *format, const char *s, size_t len,
				   char *out)
{
	bool		negative;
	uint64		whole;
	uint64		fraction;
	int			fraction_len;
	float8		value;

	(void) format;
	if (!read_decimal(s, len, &negative, &whole, &fraction, &fraction_len))
		return NULL;
	whole = whole * ingest_power_of_ten[fraction_len] + fraction;
	if (whole > UINT64CONST(1) << DBL_MANT_DIG)
		return NULL;
	value = (float8) whole;
	if (fraction_len > 0)
		value /= (float8) ingest_power_of_ten[fraction_len];
	*(float8 *) out = negative ? -value : value;
	return out + sizeof(float8);
}

/* The same for float4; ten is exact in it up to its tenth power. */
char *
ingest_read_float4(const ConvertFormat *format, const char *s, size_t len,
				   char *out)
{
	bool		negative;
	uint64		whole;
	uint64		fraction;
	int			fraction_len;
	float4		value;

	(void) format;
	if (!read_decimal(s, len, &negative, &whole, &fraction, &fraction_len) ||
		fraction_len > 10)
		return NULL;
	whole = whole * ingest_power_of_ten[fraction_len] + fraction;
	if (whole > UINT64CONST(1) << FLT_MANT_DIG)
		return NULL;
	value = (float4) whole;
	if (fraction_len > 0)
		value /= (float4) ingest_power_of_ten[fraction_len];
	*(float4 *) out = negative ? -value : value;
	return out + sizeof(float4);
}

/*
 * Write a numeric's header, of its short form (numeric.c, "Numeric short"),
 * for that many digits, and return where these go.
 */
static inline char *
put_numeric_header(const ConvertFormat *format, bool negative, int scale,
				   int weight, int ndigits, char *out)
{
	uint16		header = 0x8000 | (negative ? 0x2000 : 0) | (scale << 7) |
		(weight < 0 ? 0x0040 : 0) | (weight & 0x003F);

	out = convert_put_header(format, out,
							 sizeof(header) + ndigits * sizeof(int16));
	memcpy(out, &header, sizeof(header));
	return out + sizeof(header);
}

/* Three digits as they are in memory, in one word. */
static inline uint64
pack_digits(uint64 first, uint64 second, uint64 third)
{
#ifdef WORDS_BIGENDIAN
	return first << 48 | second << 32 | third << 16;
#else
	return first | second << 16 | third << 32;
#endif
}

/*
 * A numeric of up to three digits in base 10000, one of them behind the point.
 */
static inline char *
put_short_numeric(const ConvertFormat *format, bool negative, int scale,
				  uint64 whole, uint64 fraction, char *out)
{
	uint64		digits;
	int			ndigits;
	int			weight;

	if (whole >= 10000)
	{
		uint64		low = whole % 10000;

		digits = pack_digits(whole / 10000, low, fraction);
		ndigits = fraction != 0 ? 3 : low != 0 ? 2 : 1;
		weight = 1;
	}
	else if (whole > 0)
	{
		digits = pack_digits(whole, fraction, 0);
		ndigits = fraction != 0 ? 2 : 1;
		weight = 0;
	}
	else
	{
		digits = pack_digits(fraction, 0, 0);
		ndigits = fraction != 0 ? 1 : 0;
		weight = -ndigits;
		negative = negative && ndigits > 0;
	}
	out = put_numeric_header(format, negative, scale, weight, ndigits, out);
	memcpy(out, &digits, sizeof(digits));
	return out + ndigits * sizeof(int16);
}

/*
 * Any numeric of up to 18 digits: without zeros at either end.
 */
static char *
put_long_numeric(const ConvertFormat *format, bool negative, int scale,
				 uint64 whole, uint64 fraction, int fraction_len, char *out)
{
	int16		digits[10];		/* 5 of the integer part, then 5 */
	int			first = 5;		/* in use: first .. last - 1 */
	int			last = 5;
	int			weight;

	while (whole > 0)
	{
		digits[--first] = (int16) (whole % 10000);
		whole /= 10000;
	}
	if (fraction > 0)
	{
		int			ndigits = (fraction_len + 3) / 4;
		int			missing = 4 * ndigits - fraction_len;

		/* 18 digits take five places, of which the last holds two */
		if (ndigits == 5)
		{
			digits[last + 4] = (int16) (fraction %
										ingest_power_of_ten[4 - missing] *
										ingest_power_of_ten[missing]);
			fraction /= ingest_power_of_ten[4 - missing];
		}
		else
			fraction *= ingest_power_of_ten[missing];
		for (int i = Min(ndigits, 4) - 1; i >= 0; i--)
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

	out = put_numeric_header(format, negative, scale, weight, last - first,
							 out);
	memcpy(out, &digits[first], (last - first) * sizeof(int16));
	return out + (last - first) * sizeof(int16);
}

/*
 * With a typmod, only what needs no rounding and fits.
 */
char *
ingest_read_numeric(const ConvertFormat *format, const char *s, size_t len,
					char *out)
{
	bool		negative;
	uint64		whole;
	uint64		fraction;
	int			fraction_len;
	int			scale;

	if (!read_decimal(s, len, &negative, &whole, &fraction, &fraction_len))
		return NULL;

	scale = fraction_len;
	if (format->scale >= 0)
	{
		if (fraction_len > format->scale || whole >= format->int_limit)
			return NULL;
		scale = format->scale;
	}
	if (likely(fraction_len <= 4 && whole < 100000000))
		return put_short_numeric(format, negative, scale, whole,
								 fraction *
								 ingest_power_of_ten[4 - fraction_len], out);
	return put_long_numeric(format, negative, scale, whole, fraction,
							fraction_len, out);
}

/*
 * What fits without rounding.  A negative scale, or one beyond the short
 * form's, leaves no reader.
 */
bool
ingest_format_numeric(ConvertFormat *format, int32 typmod)
{
	int			precision;
	int			scale;

	if (typmod < (int32) VARHDRSZ)
		return true;
	precision = ((typmod - VARHDRSZ) >> 16) & 0xFFFF;
	scale = (((typmod - VARHDRSZ) & 0x7FF) ^ 1024) - 1024;
	if (scale < 0 || scale > 63 || precision < scale)
		return false;
	format->scale = scale;
	format->int_limit = precision - scale > 18 ?
		PG_UINT64_MAX : ingest_power_of_ten[precision - scale];
	return true;
}
