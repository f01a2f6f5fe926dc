/*-------------------------------------------------------------------------
 *
 * session.h
 *		Background sessions: processes that run as the caller, in transactions
 *		of their own, and do what a client's session would do.
 *
 * A session knows nothing of loading.  It is sent the name of a handler (a
 * function of this library) and bytes for it, and answers with bytes.  A
 * handler runs outside any transaction and starts and commits its own.
 *
 * Life of a session: its owner is the backend that began it.  When the owner
 * ends it, raises an error, is cancelled or dies, the session is terminated,
 * in the middle of what it does if need be.  A keeper is the exception: it is
 * left alone until it notices that its owner is gone, then waits for the
 * owner's other sessions to be gone and runs its farewell (SQL that drops
 * what the owner left), also while the server shuts down.
 *
 * IDENTIFICATION
 *		src/session.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_SESSION_H
#define INGEST_SESSION_H

#include "postgres.h"

#include "lib/stringinfo.h"

typedef struct IngestSession IngestSession;

/*
 * A handler reads its request and appends its reply.  Its errors, warnings
 * and notices reach the owner as if raised there.
 */
typedef void (*IngestSessionHandler) (StringInfo request, StringInfo reply);

/* Called about every interval while the owner waits; may raise errors. */
typedef void (*IngestSessionTick) (void *arg);

/* in session.c */

/*
 * Start a session and wait until it is connected.  Returns NULL if no
 * background worker slot is free.  May raise errors: in parallel mode, within
 * a security-restricted operation, in recovery.  The state belongs to
 * CurrentMemoryContext, the process and its memory segment to the current
 * resource owner and to the end of this backend.
 */
extern IngestSession *ingest_session_begin(const char *purpose, bool keeper);

extern int	ingest_session_pid(const IngestSession *session);

/* Send a request; the session must be idle. */
extern void ingest_session_send(IngestSession *session, const char *handler,
								StringInfo request);

/*
 * Wait until every session given has answered.  replies[i] (an initialized
 * StringInfo) receives the answer of sessions[i].  tick is called every
 * interval_ms; an error of any one session, or its death, is raised here at
 * once, and the others are then terminated as the owner's error unwinds.
 * Raises 40P01 when a session waits for a lock that its owner holds, which the
 * server's deadlock detector cannot see.
 */
extern void ingest_session_wait(IngestSession **sessions, int nsessions,
								StringInfo *replies,
								int interval_ms, IngestSessionTick tick, void *arg);

/* Run SQL commands in the session in one transaction and wait for it. */
extern void ingest_session_execute(IngestSession *session, const char *sql);

/* Replace the farewell of a keeper; NULL for none. */
extern void ingest_session_set_farewell(IngestSession *session, const char *sql);

/* Ask the session to leave (a keeper without its farewell) and wait for it. */
extern void ingest_session_finish(IngestSession *session);

#endif							/* INGEST_SESSION_H */
