/*-------------------------------------------------------------------------
 *
 * session.c
 *		Background sessions, the owner's side: start, talk to, wait for, end.
 *
 * Between owner and session lies one dynamic shared memory segment per
 * session: who the session is to be, the owner's libraries and settings, a
 * queue of requests and a queue of replies.  Errors and notices of the session
 * travel as protocol messages in the queue of replies, ahead of the reply that
 * they precede.  The model is the server's access/transam/parallel.c; what
 * differs is that a session has transactions of its own and outlives a
 * request.  The other side is session_process.c.
 *
 * Identity.  A session must not be able to do what its caller cannot.  It
 * takes over the owner's authenticated user, session user and role, as a
 * parallel worker does, and with them its current user.  There RESET ROLE
 * leads where it would lead in the owner.  But within a SECURITY DEFINER
 * function the server forbids to change roles, and a session cannot keep that
 * ban across transactions (StartTransaction() asserts it).  In that case the
 * current user becomes the session's authenticated user as well, so that
 * there is nothing to go back to.
 *
 * Ends.  The segment belongs to the resource owner that is current when the
 * session begins: in a set-returning function that returns a row per call
 * that is the portal's, which lives until the portal is dropped or fails; in
 * the block of a PL/pgSQL EXCEPTION clause it is the subtransaction's.  Its
 * release detaches the segment, before locks are released, and detaching is
 * what ends the session: a busy one is terminated through the postmaster, an
 * idle one sees that its queue has no other end.  The exit of the owner,
 * FATAL errors included, goes the same way.  As portals free their memory
 * before resource owners are released (AtAbort_Portals()), what the callback
 * needs is not in the caller's memory context but in one that it deletes.
 *
 * Portions Copyright (c) 2026, the ingest_tools authors
 *
 * IDENTIFICATION
 *		src/session.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "lib/ilist.h"
#include "libpq/pqmq.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/shm_mq.h"
#include "storage/shm_toc.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "session.h"
#include "session_internal.h"

/* The library in which the session's process looks for its functions. */
#define SESSION_LIBRARY			"ingest_tools"

/* How long, in ms, an owner that failed waits for its keeper. */
#define ABANDON_PATIENCE		5000

/* The owner's side; lives in its own memory context. */
struct IngestSession
{
	dlist_node	node;			/* in live_sessions */
	MemoryContext context;
	MemoryContext scratch;		/* reset after each message */
	dsm_segment *segment;
	SessionState *state;
	shm_mq_handle *requests;
	shm_mq_handle *replies;
	BackgroundWorkerHandle *process;
	int			encoding;		/* of the text of its messages */
	bool		keeper;
	bool		busy;			/* a request is under way */
	bool		answered;		/* its reply has come in */
	bool		abandoned;		/* on its way out, without a segment */
	StringInfoData reply;
};

/* Sessions of this backend, oldest first. */
static dlist_head live_sessions = DLIST_STATIC_INIT(live_sessions);

static void check_allowed(void);
static void create_segment(IngestSession *session, const char *purpose);
static void set_identity(SessionState *state);
static bool start_process(IngestSession *session, const char *purpose);
static void send_message(IngestSession *session, char type,
						 const char *handler, const char *data, Size len);
static void call(IngestSession *session, char type, const char *handler,
				 const char *data, Size len);
static bool all_answered(IngestSession **sessions, int nsessions);
static void take_messages(IngestSession *session);
static void take_message(IngestSession *session, const char *data, Size len);
static void throw_message(IngestSession *session, StringInfo message);
static void convert_field(char **field, int encoding);
static void report_lost(IngestSession *session);
static void check_deadlock(IngestSession *session);
static bool waits_for_me(int pid);
static void enroll(IngestSession *session);
static void replace_sibling(SessionState *keeper, int old_pid, int new_pid);
static void end_process(IngestSession *session);
static void await_end(IngestSession *session, TimestampTz deadline);
static void segment_detached(dsm_segment *segment, Datum arg);
static void detach(IngestSession *session);
static void forget(IngestSession *session);

/*
 * Start a session; see session.h.  The current resource owner gets the
 * segment, and with it all else.
 */
IngestSession *
ingest_session_begin(const char *purpose, bool keeper)
{
	IngestSession *session;
	MemoryContext context;

	check_allowed();

	context = AllocSetContextCreate(CurrentMemoryContext,
									"ingest_tools session",
									ALLOCSET_SMALL_SIZES);
	session = MemoryContextAllocZero(context, sizeof(IngestSession));
	session->context = context;
	session->scratch = AllocSetContextCreate(context,
											 "ingest_tools session message",
											 ALLOCSET_SMALL_SIZES);
	session->keeper = keeper;
	session->encoding = GetDatabaseEncoding();
	create_segment(session, purpose);
	if (session->segment == NULL)
	{
		MemoryContextDelete(context);
		return NULL;
	}

	/* From here on the callback takes care of everything, error or not. */
	on_dsm_detach(session->segment, segment_detached,
				  PointerGetDatum(session));
	MemoryContextSetParent(context, TopMemoryContext);
	dlist_push_tail(&live_sessions, &session->node);

	if (!start_process(session, purpose))
	{
		dsm_detach(session->segment);
		return NULL;
	}
	ingest_session_wait(&session, 1, NULL, 0, NULL, NULL);
	enroll(session);

	return session;
}

/* Return the process id of the session. */
int
ingest_session_pid(const IngestSession *session)
{
	return session->state->pid;
}

/* Send a request; see session.h. */
void
ingest_session_send(IngestSession *session, const char *handler,
					StringInfo request)
{
	send_message(session, SESSION_CALL, handler, request->data, request->len);
}

/* Wait for the replies of sessions; see session.h. */
void
ingest_session_wait(IngestSession **sessions, int nsessions,
					StringInfo *replies,
					int interval_ms, IngestSessionTick tick, void *arg)
{
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz next_tick = TimestampTzPlusMilliseconds(now, interval_ms);
	TimestampTz next_check = TimestampTzPlusMilliseconds(now, DeadlockTimeout);
	dlist_iter	iter;

	for (;;)
	{
		TimestampTz wake;

		/* Those not waited for have nothing to say but that they are ill. */
		dlist_foreach(iter, &live_sessions)
			take_messages(dlist_container(IngestSession, node, iter.cur));
		if (all_answered(sessions, nsessions))
			break;

		now = GetCurrentTimestamp();
		if (tick != NULL && now >= next_tick)
		{
			tick(arg);
			next_tick = TimestampTzPlusMilliseconds(now, interval_ms);
		}
		if (now >= next_check)
		{
			for (int i = 0; i < nsessions; i++)
				check_deadlock(sessions[i]);
			next_check = TimestampTzPlusMilliseconds(now, DeadlockTimeout);
		}

		wake = tick != NULL ? Min(next_tick, next_check) : next_check;
		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
														 wake),
						 WAIT_EVENT_MESSAGE_QUEUE_RECEIVE);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}

	for (int i = 0; i < nsessions; i++)
	{
		if (replies != NULL)
			appendBinaryStringInfo(replies[i], sessions[i]->reply.data,
								   sessions[i]->reply.len);
		sessions[i]->busy = false;
		sessions[i]->answered = false;
		resetStringInfo(&sessions[i]->reply);
	}
}

/* Run SQL commands in a transaction of the session; see session.h. */
void
ingest_session_execute(IngestSession *session, const char *sql)
{
	call(session, SESSION_CALL, "ingest_session_run_sql", sql,
		 strlen(sql) + 1);
}

/* Have a keeper hold locks; see session.h. */
void
ingest_session_lock(IngestSession *session, List *relids)
{
	StringInfoData request;
	ListCell   *lc;

	Assert(session->keeper);
	initStringInfo(&request);
	foreach(lc, relids)
		appendBinaryStringInfo(&request, (char *) &lfirst_oid(lc),
							   sizeof(Oid));
	call(session, SESSION_CALL, "ingest_session_take_locks", request.data,
		 request.len);
	pfree(request.data);
}

/*
 * Replace the farewell of a keeper.  When this returns the keeper has it, so
 * what it removes may now be made.
 */
void
ingest_session_set_farewell(IngestSession *session, const char *sql)
{
	Assert(session->keeper);
	call(session, SESSION_FAREWELL, "", sql, sql ? strlen(sql) + 1 : 0);
}

/* End an idle session in good order; see session.h. */
void
ingest_session_finish(IngestSession *session)
{
	dlist_iter	iter;

	send_message(session, SESSION_LEAVE, "", NULL, 0);
	if (WaitForBackgroundWorkerShutdown(session->process) ==
		BGWH_POSTMASTER_DIED)
		ereport(FATAL,
				(errcode(ERRCODE_ADMIN_SHUTDOWN),
				 errmsg("postmaster exited while a background session was ending")));
	dlist_foreach(iter, &live_sessions)
		replace_sibling(dlist_container(IngestSession, node, iter.cur)->state,
						session->state->pid, 0);
	detach(session);
	forget(session);
}

/* End sessions after an error; see session.h. */
void
ingest_session_abandon(IngestSession **sessions, int nsessions)
{
	TimestampTz deadline =
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ABANDON_PATIENCE);
	bool		younger_too = false;
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &live_sessions)
	{
		IngestSession *session = dlist_container(IngestSession, node, iter.cur);

		for (int i = 0; i < nsessions; i++)
			session->abandoned |= session == sessions[i];
		session->abandoned |= younger_too;
		if (!session->abandoned)
			continue;

		younger_too |= session->keeper;
		end_process(session);
		detach(session);
	}

	dlist_foreach_modify(iter, &live_sessions)
	{
		IngestSession *session = dlist_container(IngestSession, node, iter.cur);

		if (session->abandoned)
		{
			await_end(session, deadline);
			forget(session);
		}
	}

	for (int i = 0; i < nsessions; i++)
		sessions[i] = NULL;
}

/* Raise an error where a session would let the caller do too much. */
static void
check_allowed(void)
{
	if (IsInParallelMode())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot start a background session during a parallel operation")));
	if (InSecurityRestrictedOperation())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot start a background session within a security-restricted operation")));
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot start a background session during recovery")));
	if (XactReadOnly)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot start a background session in a read-only transaction")));
}

/*
 * Create and fill the segment and attach to its queues.  Leaves
 * session->segment NULL if the server has no segment to spare.
 */
static void
create_segment(IngestSession *session, const char *purpose)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(session->context);
	Size		state_size = offsetof(SessionState, siblings) +
		max_worker_processes * sizeof(int);
	Size		libraries_size = EstimateLibraryStateSpace();
	Size		settings_size = EstimateGUCStateSpace();
	shm_toc_estimator estimator;
	Size		size;
	shm_toc    *toc;
	char	   *space;
	shm_mq	   *queue;

	shm_toc_initialize_estimator(&estimator);
	shm_toc_estimate_chunk(&estimator, state_size);
	shm_toc_estimate_chunk(&estimator, libraries_size);
	shm_toc_estimate_chunk(&estimator, settings_size);
	shm_toc_estimate_chunk(&estimator, SESSION_REQUESTS_SIZE);
	shm_toc_estimate_chunk(&estimator, SESSION_REPLIES_SIZE);
	shm_toc_estimate_keys(&estimator, 5);
	size = shm_toc_estimate(&estimator);

	session->segment = dsm_create(size, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	if (session->segment == NULL)
	{
		MemoryContextSwitchTo(oldcontext);
		return;
	}
	toc = shm_toc_create(SESSION_MAGIC, dsm_segment_address(session->segment),
						 size);

	session->state = shm_toc_allocate(toc, state_size);
	memset(session->state, 0, state_size);
	session->state->database = MyDatabaseId;
	set_identity(session->state);
	strlcpy(session->state->purpose, purpose, BGW_MAXLEN);
	session->state->nsiblings = max_worker_processes;
	shm_toc_insert(toc, SESSION_KEY_STATE, session->state);

	space = shm_toc_allocate(toc, libraries_size);
	SerializeLibraryState(libraries_size, space);
	shm_toc_insert(toc, SESSION_KEY_LIBRARIES, space);

	space = shm_toc_allocate(toc, settings_size);
	SerializeGUCState(settings_size, space);
	shm_toc_insert(toc, SESSION_KEY_SETTINGS, space);

	queue = shm_mq_create(shm_toc_allocate(toc, SESSION_REQUESTS_SIZE),
						  SESSION_REQUESTS_SIZE);
	shm_toc_insert(toc, SESSION_KEY_REQUESTS, queue);
	shm_mq_set_sender(queue, MyProc);
	session->requests = shm_mq_attach(queue, session->segment, NULL);

	queue = shm_mq_create(shm_toc_allocate(toc, SESSION_REPLIES_SIZE),
						  SESSION_REPLIES_SIZE);
	shm_toc_insert(toc, SESSION_KEY_REPLIES, queue);
	shm_mq_set_receiver(queue, MyProc);
	session->replies = shm_mq_attach(queue, session->segment, NULL);

	initStringInfo(&session->reply);
	MemoryContextSwitchTo(oldcontext);
}

/* Decide who the session is; see the head of this file. */
static void
set_identity(SessionState *state)
{
	state->definer = InLocalUserIdChange() || GetUserId() != GetOuterUserId();
	if (state->definer)
	{
		state->authenticated_user = GetUserId();
		state->session_user = GetUserId();
		state->session_is_superuser = superuser();
		state->role = InvalidOid;
		state->role_is_superuser = false;
	}
	else
	{
		state->authenticated_user = GetAuthenticatedUserId();
		state->session_user = GetSessionUserId();
		state->session_is_superuser = GetSessionUserIsSuperuser();
		state->role = GetCurrentRoleId();
		state->role_is_superuser = current_role_is_superuser;
	}
	state->authenticated_is_superuser =
		superuser_arg(state->authenticated_user);
}

/*
 * Have the postmaster start the session's process.  It counts as busy until
 * it says that it is connected.  Returns false if no slot is free.
 */
static bool
start_process(IngestSession *session, const char *purpose)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(session->context);
	BackgroundWorker worker;
	bool		registered;

	memset(&worker, 0, sizeof(worker));
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS |
		BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_notify_pid = MyProcPid;
	worker.bgw_main_arg =
		UInt32GetDatum(dsm_segment_handle(session->segment));
	worker.bgw_extra[0] = session->keeper;
	strlcpy(worker.bgw_library_name, SESSION_LIBRARY,
			sizeof(worker.bgw_library_name));
	strlcpy(worker.bgw_function_name, "ingest_session_main", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "ingest_tools session", BGW_MAXLEN);
	snprintf(worker.bgw_name, BGW_MAXLEN, "ingest_tools session for PID %d: %s",
			 MyProcPid, purpose);

	registered = RegisterDynamicBackgroundWorker(&worker, &session->process);
	if (registered)
	{
		/* Lets the queues see that the process never came to attach. */
		shm_mq_set_handle(session->requests, session->process);
		shm_mq_set_handle(session->replies, session->process);
		session->busy = true;
	}
	MemoryContextSwitchTo(oldcontext);

	return registered;
}

/*
 * Send a message to an idle session.  Waits, interruptibly, while the queue
 * is full.
 */
static void
send_message(IngestSession *session, char type, const char *handler,
			 const char *data, Size len)
{
	shm_mq_iovec iov[3];

	if (session->busy)
		elog(ERROR, "background session %d is busy",
			 session->state->pid);

	iov[0].data = &type;
	iov[0].len = 1;
	iov[1].data = handler;
	iov[1].len = strlen(handler) + 1;
	iov[2].data = data;
	iov[2].len = len;

	session->busy = true;
	if (shm_mq_sendv(session->requests, iov, 3, false, true) !=
		SHM_MQ_SUCCESS && type != SESSION_LEAVE)
	{
		/* It may have said why. */
		take_messages(session);
		report_lost(session);
	}
}

/* Send a message and wait for the empty reply. */
static void
call(IngestSession *session, char type, const char *handler, const char *data,
	 Size len)
{
	send_message(session, type, handler, data, len);
	ingest_session_wait(&session, 1, NULL, 0, NULL, NULL);
}

/* Have all the sessions answered? */
static bool
all_answered(IngestSession **sessions, int nsessions)
{
	for (int i = 0; i < nsessions; i++)
	{
		if (!sessions[i]->busy)
			elog(ERROR, "background session %d was sent nothing",
				 sessions[i]->state->pid);
		if (!sessions[i]->answered)
			return false;
	}
	return true;
}

/* Take what the session has sent so far; raises its errors and its death. */
static void
take_messages(IngestSession *session)
{
	for (;;)
	{
		Size		len;
		void	   *data;

		switch (shm_mq_receive(session->replies, &len, &data, true))
		{
			case SHM_MQ_SUCCESS:
				take_message(session, data, len);
				break;
			case SHM_MQ_WOULD_BLOCK:
				return;
			case SHM_MQ_DETACHED:
				report_lost(session);
		}
	}
}

/* Take one message: keep a reply, raise an error, pass on a notice. */
static void
take_message(IngestSession *session, const char *data, Size len)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(session->scratch);
	StringInfoData message;

	Assert(len > 0);
	if (data[0] == SESSION_REPLY)
	{
		appendBinaryStringInfo(&session->reply, data + 1, len - 1);
		session->answered = true;
	}
	else if (data[0] == SESSION_ENCODING)
	{
		Assert(len == 1 + sizeof(int));
		memcpy(&session->encoding, data + 1, sizeof(int));
	}
	else if (data[0] == 'E' || data[0] == 'N')
	{
		/* After an error it does nothing that would have to be stopped. */
		if (data[0] == 'E')
			session->busy = false;
		initStringInfo(&message);
		appendBinaryStringInfo(&message, data + 1, len - 1);
		throw_message(session, &message);
	}
	else
		elog(ERROR, "unexpected message type \"%c\" from background session %d",
			 data[0], session->state->pid);

	MemoryContextSwitchTo(oldcontext);
	MemoryContextReset(session->scratch);
}

/*
 * Raise an error or notice of the session as our own, as
 * HandleParallelMessage() does.  FATAL there is ERROR here.
 */
static void
throw_message(IngestSession *session, StringInfo message)
{
	char	   *origin = psprintf(_("background session %d"),
								  session->state->pid);
	ErrorData	edata;

	pq_parse_errornotice(message, &edata);
	edata.elevel = Min(edata.elevel, ERROR);

	/* The position is one in the session's query, which the client has not. */
	edata.cursorpos = 0;

	convert_field(&edata.message, session->encoding);
	convert_field(&edata.detail, session->encoding);
	convert_field(&edata.hint, session->encoding);
	convert_field(&edata.context, session->encoding);
	convert_field(&edata.schema_name, session->encoding);
	convert_field(&edata.table_name, session->encoding);
	convert_field(&edata.column_name, session->encoding);
	convert_field(&edata.datatype_name, session->encoding);
	convert_field(&edata.constraint_name, session->encoding);
	convert_field(&edata.internalquery, session->encoding);
	edata.context = edata.context ?
		psprintf("%s\n%s", edata.context, origin) : origin;

	ThrowErrorData(&edata);
}

/* Convert a field of a message, if there, to the server's encoding. */
static void
convert_field(char **field, int encoding)
{
	if (*field != NULL)
		*field = pg_any_to_server(*field, strlen(*field), encoding);
}

/* Raise the error for a session that went away without a word. */
static void
report_lost(IngestSession *session)
{
	int			pid = session->state->pid;

	if (pid == 0)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("could not start a background session"),
				 errhint("More details may be available in the server log.")));
	ereport(ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("lost connection to background session %d", pid),
			 errhint("More details may be available in the server log.")));
}

/*
 * Raise an error if a session waits for a lock of ours.  We wait for the
 * session in a way the deadlock detector does not know of, so it sees no
 * cycle.
 */
static void
check_deadlock(IngestSession *session)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(session->scratch);
	int			pid = session->state->pid;

	if (pid != 0 && !session->answered && waits_for_me(pid))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_DEADLOCK_DETECTED),
				 errmsg("deadlock detected"),
				 errdetail("Background session %d waits for a lock that process %d holds; process %d waits for the background session.",
						   pid, MyProcPid, MyProcPid),
				 errhint("Start from a transaction that has not locked the tables concerned.")));

	MemoryContextSwitchTo(oldcontext);
	MemoryContextReset(session->scratch);
}

/*
 * Does a process wait, directly or behind others that wait, for this one?
 * Follows pg_blocking_pids().  The answers are of slightly different moments;
 * for one to be wrong a lock has to change hands between two of them.
 */
static bool
waits_for_me(int pid)
{
	List	   *pids = list_make1_int(pid);

	/* The list grows as we go. */
	for (int i = 0; i < list_length(pids); i++)
	{
		Datum		blockers;
		Datum	   *elements;
		int			nelements;

		blockers = DirectFunctionCall1(pg_blocking_pids,
									   Int32GetDatum(list_nth_int(pids, i)));
		deconstruct_array(DatumGetArrayTypeP(blockers), INT4OID,
						  sizeof(int32), true, TYPALIGN_INT,
						  &elements, NULL, &nelements);
		for (int j = 0; j < nelements; j++)
		{
			int			blocker = DatumGetInt32(elements[j]);

			if (blocker == MyProcPid)
				return true;
			/* 0 is a prepared transaction, which waits for nobody. */
			if (blocker != 0)
				pids = list_append_unique_int(pids, blocker);
		}
	}
	return false;
}

/* Make a session that has come up known to the keepers begun before it. */
static void
enroll(IngestSession *session)
{
	dlist_iter	iter;

	dlist_foreach(iter, &live_sessions)
	{
		IngestSession *other = dlist_container(IngestSession, node, iter.cur);

		if (other->keeper && !session->keeper)
			replace_sibling(other->state, 0, session->state->pid);
	}
}

/*
 * Replace old_pid in a keeper's list of siblings, 0 standing for a free
 * place.  Places of processes that are gone are free too: a session ended by
 * an error is not struck off.
 */
static void
replace_sibling(SessionState *keeper, int old_pid, int new_pid)
{
	for (int i = 0; i < keeper->nsiblings; i++)
	{
		int			pid = keeper->siblings[i];

		if (pid == old_pid ||
			(old_pid == 0 && BackendPidGetProc(pid) == NULL))
		{
			keeper->siblings[i] = new_pid;
			return;
		}
	}
}

/*
 * Start the end of a session.  An idle one needs no more than that we detach,
 * and then leaves without a line in the server's log.
 */
static void
end_process(IngestSession *session)
{
	pid_t		pid;

	if (!session->busy)
		return;

	/*
	 * The postmaster passes the request on, also to a process that has not
	 * started yet, but takes its time.  When our transaction aborts, our
	 * locks are released next; a session that waits for one of them must have
	 * the signal before it gets the lock, or it could go on and commit.
	 */
	TerminateBackgroundWorker(session->process);
	if (GetBackgroundWorkerPid(session->process, &pid) == BGWH_STARTED)
		(void) kill(pid, SIGTERM);
}

/*
 * Wait until the session's process is gone, the deadline has passed or
 * somebody wants us to stop.
 */
static void
await_end(IngestSession *session, TimestampTz deadline)
{
	pid_t		pid;

	while (GetBackgroundWorkerPid(session->process, &pid) != BGWH_STOPPED &&
		   !QueryCancelPending && !ProcDiePending)
	{
		long		timeout;

		timeout = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
												  deadline);
		if (timeout <= 0)
			break;
		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 timeout, WAIT_EVENT_BGWORKER_SHUTDOWN);
		ResetLatch(MyLatch);
	}
}

/* The segment goes, and this session with it: on_dsm_detach callback. */
static void
segment_detached(dsm_segment *segment, Datum arg)
{
	IngestSession *session = (IngestSession *) DatumGetPointer(arg);

	(void) segment;
	end_process(session);
	forget(session);
}

/* Detach from the segment but keep the rest. */
static void
detach(IngestSession *session)
{
	cancel_on_dsm_detach(session->segment, segment_detached,
						 PointerGetDatum(session));
	dsm_detach(session->segment);
}

/* Free what is left of a session; its segment is gone or about to be. */
static void
forget(IngestSession *session)
{
	dlist_delete(&session->node);
	MemoryContextDelete(session->context);
}
