/*-------------------------------------------------------------------------
 *
 * convert_datetime.c
 *		Readers of dates and times in ISO form.
 *
 * IDENTIFICATION
 *		src/convert_datetime.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "pgtime.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#include "convert_internal.h"

/* Exactly two digits, at most max; -1 if they are not. */
static inline int
read_two_digits(const char *s, int max)
{
	unsigned int tens = (unsigned char) s[0] - '0';
	unsigned int ones = (unsigned char) s[1] - '0';
	int			value = (int) (tens * 10 + ones);

	return tens <= 9 && ones <= 9 && value <= max ? value : -1;
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
read_hms(const ConvertFormat *format, const char *s, size_t len,
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
		if (format->whole_seconds || n - start > 6 ||
			!convert_digits(s + start, n - start, &fraction))
			return 0;
		*microseconds = (int) (fraction * ingest_power_of_ten[6 - (n - start)]);
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

char *
ingest_read_date(const ConvertFormat *format, const char *s, size_t len,
				 char *out)
{
	struct pg_tm tm;

	(void) format;
	if (len != 10 || !read_ymd(s, &tm))
		return NULL;
	*(DateADT *) out = day_number(&tm);
	return out + sizeof(DateADT);
}

char *
ingest_read_time(const ConvertFormat *format, const char *s, size_t len,
				 char *out)
{
	struct pg_tm tm;
	int			microseconds;

	if (len < 8 || read_hms(format, s, len, &tm, &microseconds) != len)
		return NULL;
	*(TimeADT *) out = time_of_day(&tm, microseconds);
	return out + sizeof(TimeADT);
}

/*
 * yyyy-mm-dd[( |T)hh:mm:ss[.ffffff]]; returns the number of bytes, or 0.
 */
static size_t
read_date_time(const ConvertFormat *format, const char *s, size_t len,
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
		time_len = read_hms(format, s + n, len - n, tm, &microseconds);
		if (time_len == 0)
			return 0;
		n += time_len;
	}
	*result = day_number(tm) * USECS_PER_DAY + time_of_day(tm, microseconds);
	return n;
}

char *
ingest_read_timestamp(const ConvertFormat *format, const char *s, size_t len,
					  char *out)
{
	struct pg_tm tm;

	if (len < 10 ||
		read_date_time(format, s, len, &tm, (Timestamp *) out) != len)
		return NULL;
	return out + sizeof(Timestamp);
}

/* With Z, +hh, -hh, +hh:mm, -hh:mm, or the session's time zone. */
char *
ingest_read_timestamptz(const ConvertFormat *format, const char *s, size_t len,
						char *out)
{
	struct pg_tm tm;
	Timestamp	local;
	size_t		n;
	int			west;			/* seconds, as DecodeTimezone() has it */

	n = read_date_time(format, s, len, &tm, &local);
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

