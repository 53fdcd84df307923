/**
 * SSE streams that clients of the 2025 protocols open with GET: change notifications, and the rest of an
 * interrupted response.
 */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { AppError } from '@harness/contracts';
import { type Dispatch, type McpSession, untilReached } from '@harness/dispatch';
import type { FastifyReply } from 'fastify';
import type { Change, Changes } from '../../content/list-changes.ts';
import { onDisconnect } from '../../http/client-disconnect.ts';
import type { Slots } from '../../limits/slots.ts';
import { notificationMessage, type RequestId } from '../wire/json-rpc.ts';
import type { McpResponseOptions } from '../wire/mcp-response.ts';
import type { ServerNotification } from './legacy-protocol.ts';

/** The streams of one gateway. */
export interface LegacyStreams {
  /**
   * Opens the session's notification stream; it replaces an older one, at any gateway. Throws
   * `too_many_streams`.
   */
  open(session: McpSession, reply: FastifyReply): Promise<void>;
  /**
   * Sends the messages after the event, then later ones until the response ends. Throws `invalid_request` if
   * the event belongs to another session or is no longer stored, and `too_many_streams`.
   */
  resume(session: McpSession, lastEventId: string, reply: FastifyReply): Promise<void>;
  /** The log in which a response of the session is stored for resumption. */
  logOf(sessionId: string, requestId: RequestId): NonNullable<McpResponseOptions['log']>;
  close(): void;
}

const keepAliveMs = 15_000;

/** Creates the streams of one gateway. */
export function createLegacyStreams(deps: {
  dispatch: Dispatch;
  changes: Changes;
  slots: { streams: Slots };
}): LegacyStreams {
  const { streamLog, replicas } = deps.dispatch;
  const sse = createSseReplies(deps.slots.streams);
  const standing = createStandingStreams(deps);
  let closed = false;

  return {
    async open(session, reply) {
      const { sessionId, keyId } = session;
      const stream = randomUUID();
      const raw = sse.begin(session, reply);
      standing.replace(sessionId, { stream, keyId, reply, isAnnounced: false });
      onDisconnect(raw, () => standing.remove(sessionId, stream));
      await replicas.broadcast({ kind: 'stream_opened', sessionId, stream });
    },
    async resume(session, lastEventId, reply) {
      const { sessionId } = session;
      const [stream = '', position = ''] = lastEventId.split('_');
      const over = new AbortController();
      onDisconnect(reply.raw, () => over.abort());
      const messages = await streamLog.follow(`${sessionId}:${stream}`, position, over.signal);
      // Not 404: clients take that as the end of the session.
      if (!messages)
        throw new AppError(
          'invalid_request',
          'The stream of this event id is not known or no longer stored. Call again.',
        );
      const raw = sse.begin(session, reply);
      try {
        for await (const { id, message } of messages) {
          write(reply, `event: message\nid: ${stream}_${id}\ndata: ${JSON.stringify(message)}\n\n`);
          if (raw.writableNeedDrain) await once(raw, 'drain', { signal: over.signal }).catch(() => undefined); // the client has disconnected
        }
      } finally {
        raw.end(); // also when Redis is unreachable: the client resumes again
      }
    },
    logOf(sessionId, requestId) {
      const stream = randomUUID();
      const name = `${sessionId}:${stream}`;
      const idOf = async (store: () => Promise<string>) =>
        `${stream}_${await untilReached(store, () => closed)}`;
      return {
        open: () => idOf(() => streamLog.open(name, requestId)),
        append: (message, last) => idOf(() => streamLog.append(name, message, last)),
      };
    },
    close() {
      closed = true;
      standing.close();
      sse.close();
    },
  };
}

/** Begins SSE responses, and keeps their connections alive. */
function createSseReplies(slots: Slots) {
  const open = new Set<FastifyReply>();
  // One timer for all streams, so that thousands of idle ones cost little.
  const keepAlive = setInterval(() => {
    for (const reply of open) write(reply, ':\n\n');
  }, keepAliveMs);
  keepAlive.unref();
  return {
    /** Throws `too_many_streams`. */
    begin(session: McpSession, reply: FastifyReply) {
      const giveBack = slots.take(session);
      reply.hijack();
      open.add(reply);
      const { raw } = reply;
      raw.writeHead(200, {
        ...(reply.getHeaders() as Record<string, string>),
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
      raw.write(':\n\n');
      onDisconnect(raw, () => {
        open.delete(reply);
        giveBack();
      });
      return raw;
    },
    close() {
      clearInterval(keepAlive);
      for (const { raw } of open) raw.end();
    },
  };
}

interface StandingStream {
  stream: string;
  keyId: string;
  reply: FastifyReply;
  /** Its own `stream_opened` signal has arrived. */
  isAnnounced: boolean;
}

/**
 * The notification streams of this gateway, one for each session. All gateways receive the `stream_opened`
 * signals in the same order: a stream whose own signal has arrived is closed when the signal of another one
 * arrives.
 */
function createStandingStreams({ dispatch, changes }: { dispatch: Dispatch; changes: Changes }) {
  const { mcpSessions, replicas } = dispatch;
  const streams = new Map<string, StandingStream>();
  const drop = (sessionId: string) => {
    streams.get(sessionId)?.reply.raw.end();
    streams.delete(sessionId);
  };
  const onOpened = (sessionId: string, stream: string) => {
    const own = streams.get(sessionId);
    if (own?.stream === stream) own.isAnnounced = true;
    else if (own?.isAnnounced) drop(sessionId);
  };
  const notify = async (change: Change) => {
    const message = messageOf(change);
    for (const [sessionId, { reply, keyId }] of streams) {
      if ('list' in change && change.keyId !== undefined && change.keyId !== keyId) continue;
      if ('uri' in change && !(await mcpSessions.isSubscribed(sessionId, change.uri))) continue;
      write(reply, `event: message\ndata: ${JSON.stringify(message)}\n\n`);
    }
  };
  const stops = [
    changes.onChange((change) => void notify(change).catch(() => undefined)),
    replicas.onSignal((signal) => {
      if (signal.kind === 'session_ended') drop(signal.sessionId);
      if (signal.kind === 'stream_opened') onOpened(signal.sessionId, signal.stream);
      if (signal.kind === 'missed') for (const own of streams.values()) own.isAnnounced = true;
    }),
  ];
  return {
    /** Closes the session's stream, if there is one; this one takes its place. */
    replace(sessionId: string, stream: StandingStream) {
      drop(sessionId);
      streams.set(sessionId, stream);
    },
    remove(sessionId: string, stream: string) {
      if (streams.get(sessionId)?.stream === stream) streams.delete(sessionId);
    },
    close() {
      for (const stop of stops) stop();
    },
  };
}

/** A client with more unsent bytes is disconnected. */
const maxUnsentBytes = 4 * 1024 * 1024;

/** Writes unless the stream has ended meanwhile: by the client, a newer stream or shutdown. */
function write({ raw }: FastifyReply, text: string): void {
  if (raw.writableEnded || raw.destroyed) return;
  if (raw.writableLength > maxUnsentBytes) raw.destroy();
  else raw.write(text);
}

const messageOf = (change: Change) =>
  notificationMessage<ServerNotification>(
    'uri' in change
      ? { method: 'notifications/resources/updated', params: { uri: change.uri } }
      : { method: `notifications/${change.list}/list_changed` },
  );
