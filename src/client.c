/*-------------------------------------------------------------------------
 *
 * client.c
 *		The data of COPY ... FROM STDIN, as the client sends it.
 *
 * This is the server's side of the COPY-in part of the protocol, as in
 * ReceiveCopyBegin() and CopyGetData() (commands/copyfromparse.c), with their
 * errors.
 *
 * The client is asked for data by the first read, not before: it must not
 * begin to send where COPY would have raised an error first.
 *
 * IDENTIFICATION
 *		src/client.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

/*
 * The header describes connections with the types of the libraries that may
 * encrypt them.  We use none of that, and need not have their headers.
 */
#undef ENABLE_GSS
#undef USE_OPENSSL
#include "libpq/libpq.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"

#include "client.h"
#include "compat.h"

struct IngestClient
{
	int			columns;
	StringInfoData message;		/* message.cursor is read up to */
	bool		asked;			/* it sends, or has sent, data */
	bool		eof;
};

pg_noreturn static void client_gone_error(void);

IngestClient *
ingest_client_begin(int columns)
{
	IngestClient *client = palloc0_object(IngestClient);

	client->columns = columns;
	initStringInfo(&client->message);
	return client;
}

/*
 * Send CopyInResponse.
 */
static void
ask_client(IngestClient *client)
{
	StringInfoData response;

	pq_beginmessage(&response, 'G');
	pq_sendbyte(&response, 0);	/* text */
	pq_sendint16(&response, client->columns);
	for (int i = 0; i < client->columns; i++)
		pq_sendint16(&response, 0);
	pq_endmessage(&response);
	pq_flush();
	client->asked = true;
}

static void
client_gone_error(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("unexpected EOF on client connection with an open transaction")));
}

/*
 * Receive a message into client->message; returns its type.  A cancel must not
 * come between its parts, which would put us out of step with the client.
 */
static int
receive_message(IngestClient *client)
{
	int			type;
	int			max_length;

	HOLD_CANCEL_INTERRUPTS();
	pq_startmsgread();
	type = pq_getbyte();
	if (type == EOF)
		client_gone_error();
	switch (type)
	{
		case 'd':				/* CopyData */
			max_length = PQ_LARGE_MESSAGE_LIMIT;
			break;
		case 'c':				/* CopyDone */
		case 'f':				/* CopyFail */
		case 'H':				/* Flush */
		case 'S':				/* Sync */
			max_length = PQ_SMALL_MESSAGE_LIMIT;
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_PROTOCOL_VIOLATION),
					 errmsg("unexpected message type 0x%02X during COPY from stdin",
							type)));
	}
	if (pq_getmessage(&client->message, max_length))
		client_gone_error();
	RESUME_CANCEL_INTERRUPTS();
	return type;
}

/*
 * Have more data in client->message; returns false at its end.
 */
static bool
receive_data(IngestClient *client)
{
	while (!client->eof)
	{
		CHECK_FOR_INTERRUPTS();
		switch (receive_message(client))
		{
			case 'd':
				if (client->message.len > 0)
					return true;
				break;
			case 'c':
				client->eof = true;
				break;
			case 'f':
				ereport(ERROR,
						(errcode(ERRCODE_QUERY_CANCELED),
						 errmsg("COPY from stdin failed: %s",
								pq_getmsgstring(&client->message))));
				break;
			default:			/* Flush and Sync mean nothing here */
				break;
		}
	}
	return false;
}

size_t
ingest_client_read(IngestClient *client, char *buf, size_t len)
{
	StringInfo	message = &client->message;

	if (!client->asked)
		ask_client(client);
	if (message->cursor == message->len && !receive_data(client))
		return 0;
	len = Min(len, (size_t) (message->len - message->cursor));
	memcpy(buf, message->data + message->cursor, len);
	message->cursor += len;
	return len;
}

/*
 * What comes after an end-of-data mark must be received, or it would be taken
 * for the client's next messages.
 */
void
ingest_client_finish(IngestClient *client)
{
	if (!client->asked)
		ask_client(client);
	while (receive_data(client))
		;
}
