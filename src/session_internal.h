/*-------------------------------------------------------------------------
 *
 * session_internal.h
 *		What lies between the two sides of a background session; for
 *		session.c and session_process.c only.
 *
 * IDENTIFICATION
 *		src/session_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_SESSION_INTERNAL_H
#define INGEST_SESSION_INTERNAL_H

#include "postgres.h"

#include "postmaster/bgworker.h"

#define SESSION_MAGIC			0x16E57001

/* Entries of the segment's table of contents. */
#define SESSION_KEY_STATE		1
#define SESSION_KEY_LIBRARIES	2
#define SESSION_KEY_SETTINGS	3
#define SESSION_KEY_REQUESTS	4
#define SESSION_KEY_REPLIES		5

/* Sizes of the queues; longer messages go through in pieces. */
#define SESSION_REQUESTS_SIZE	16384
#define SESSION_REPLIES_SIZE	65536

/* First byte of a message to the session ... */
#define SESSION_CALL			'C'
#define SESSION_FAREWELL		'F'
#define SESSION_LEAVE			'X'

/* ... and of one from it that is not the server's 'E' or 'N'. */
#define SESSION_REPLY			'r'
#define SESSION_ENCODING		'e'

/*
 * Fixed part of the segment.  Written by the owner before the process is
 * started, but for pid and siblings.
 */
typedef struct SessionState
{
	Oid			database;

	/* who the session is */
	Oid			authenticated_user;
	Oid			session_user;
	Oid			role;			/* InvalidOid if none is set */
	bool		authenticated_is_superuser;
	bool		session_is_superuser;
	bool		role_is_superuser;
	bool		definer;		/* all of them are the current user */

	char		purpose[BGW_MAXLEN];

	/* The session's process id, written by itself; 0 if not yet started. */
	int			pid;

	/*
	 * Process ids of the sessions begun after a keeper, 0 for a free place.
	 * Kept by the owner, and read by the keeper once it is to leave.
	 */
	int			nsiblings;
	int			siblings[FLEXIBLE_ARRAY_MEMBER];
} SessionState;

#endif							/* INGEST_SESSION_INTERNAL_H */
