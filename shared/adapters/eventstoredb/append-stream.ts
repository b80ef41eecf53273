import { randomUUID } from 'node:crypto';
import {
  AccessDeniedError,
  type AppendResult,
  MaxAppendSizeExceededError,
  StreamDeletedError,
  TimeoutError,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import {
  Empty,
  MaximumAppendSizeExceeded,
  StreamIdentifier,
  UUID,
  WrongExpectedVersion,
} from '@eventstore/db-client/generated/shared_pb';
import type { Status } from '@eventstore/db-client/generated/status_pb';
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb';
import { BatchAppendReq, type BatchAppendResp } from '@eventstore/db-client/generated/streams_pb';
import type { EventBytes } from './events';
import { codeOf, SharedCallError, SilenceError, UNIMPLEMENTED } from './failures';

/** An append as the server is asked for it. */
export interface Append {
  /** As it is called on the server. */
  readonly stream: string;
  readonly expected_revision: bigint | 'no_stream';
  readonly events: readonly EventBytes[];
}

/** What is larger gains nothing by sharing a call, and holds up those behind it. */
const SHARED_BYTES_MAX = 256 * 1024;

type Call = ReturnType<StreamsClient['batchAppend']>;

/** Of the client's own: it finds the leader, adds the credentials, and ends the call when it is disposed of. */
export interface StreamingClient {
  GRPCStreamCreator(
    service: typeof StreamsClient,
    name: string,
    create: (streams: StreamsClient) => Call,
  ): () => Promise<Call>;
  callArguments(
    options: { requiresLeader: boolean },
    call_options: { deadline: number },
  ): Parameters<StreamsClient['batchAppend']>;
}

interface Waiting {
  readonly stream: string;
  readonly request: BatchAppendReq;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Appends of one client over one call, which the first of them opens: a fraction of what a call for each costs, here
 * and on the server. Whatever ends the call fails those that wait on it, and nobody else's: each is then to be asked
 * for again in a call of its own.
 */
export class AppendStream {
  private readonly client: StreamingClient;
  private call: SharedCall | undefined;
  private unknown_to_server = false;

  constructor(client: StreamingClient) {
    this.client = client;
  }

  /** False for what is large, and of a server that does not know such calls. */
  takes(append: Append): boolean {
    return !this.unknown_to_server && bytesOf(append) <= SHARED_BYTES_MAX;
  }

  /**
   * Throws what the client's own append throws of an answer, `SilenceError` after `timeout_ms`, and `SharedCallError`
   * where the call ends before the answer; after the last two the append may have landed or not.
   */
  append(append: Append, timeout_ms: number): Promise<AppendResult> {
    this.call ??= new SharedCall(this.client, (call, cause) => this.ended(call, cause));
    return this.call.append(append, timeout_ms);
  }

  /** Ends the call; those that wait fail. */
  close(): void {
    this.call?.close();
  }

  private ended(call: SharedCall, cause: unknown): void {
    if (this.call === call) this.call = undefined;
    if (codeOf(cause) === UNIMPLEMENTED) this.unknown_to_server = true;
  }
}

/** One call to Streams.BatchAppend, from its opening to its end. */
class SharedCall {
  /** By correlation id. */
  private readonly waiting = new Map<string, Waiting>();
  /** In the order of the appends: those that the call is not open for yet, or holds back for. */
  private readonly unsent = new Set<string>();
  private readonly onEnd: (call: SharedCall, cause: unknown) => void;
  private call: Call | undefined;
  private over = false;

  constructor(client: StreamingClient, onEnd: (call: SharedCall, cause: unknown) => void) {
    this.onEnd = onEnd;
    const open = client.GRPCStreamCreator(StreamsClient, 'batchAppend', (streams) =>
      this.begin(
        streams.batchAppend(...client.callArguments({ requiresLeader: true }, { deadline: Infinity })),
      ),
    );
    open().catch((error: unknown) => this.end(error));
  }

  append(append: Append, timeout_ms: number): Promise<AppendResult> {
    const id = randomUUID();
    const request = batchRequest(append).setCorrelationId(new UUID().setString(id));
    return new Promise((resolve, reject) => {
      const silence = (): void => this.take(id)?.reject(new SilenceError('no answer to an append in time'));
      const timer = setTimeout(silence, timeout_ms);
      this.waiting.set(id, { stream: append.stream, request, resolve, reject, timer });
      this.unsent.add(id);
      this.send();
    });
  }

  close(): void {
    this.end(new Error('the client was closed'));
    this.call?.cancel();
  }

  private begin(call: Call): Call {
    this.call = call;
    call.on('data', (answer: BatchAppendResp) => this.settle(answer));
    call.on('drain', () => this.send());
    // For good: an error that nobody listens to would end the process.
    call.on('error', (error) => this.end(error));
    call.on('end', () => this.end(undefined));
    call.on('close', () => this.end(undefined));
    // Closed while it was being opened.
    if (this.over) call.cancel();
    else this.send();
    return call;
  }

  private send(): void {
    const { call } = this;
    if (!call) return;
    for (const id of this.unsent) {
      if (call.writableNeedDrain) return;
      this.unsent.delete(id);
      try {
        call.write(this.waiting.get(id)!.request);
      } catch (cause) {
        this.take(id)?.reject(new SharedCallError('an append could not be sent', { cause }));
      }
    }
  }

  /** An answer that nobody waits for any more is one that came too late. */
  private settle(answer: BatchAppendResp): void {
    const waiting = this.take(answer.getCorrelationId()?.getString());
    if (!waiting) return;
    try {
      waiting.resolve(outcomeOf(answer, waiting.stream));
    } catch (error) {
      waiting.reject(error);
    }
  }

  /** Who waits under `id`, and does no longer. */
  private take(id: string | undefined): Waiting | undefined {
    const waiting = id === undefined ? undefined : this.waiting.get(id);
    if (id === undefined || !waiting) return undefined;
    this.waiting.delete(id);
    this.unsent.delete(id);
    clearTimeout(waiting.timer);
    return waiting;
  }

  private end(cause: unknown): void {
    if (this.over) return;
    this.over = true;
    this.onEnd(this, cause);
    const error = new SharedCallError('the call that appends share has ended', { cause });
    for (const id of [...this.waiting.keys()]) this.take(id)?.reject(error);
    // Where the server has ended it cleanly, the client counts the call as open until this half ends too.
    this.call?.end();
  }
}

/** Of all data and metadata together. */
function bytesOf({ events }: Append): number {
  return events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);
}

/**
 * The whole append in one message, but for its correlation id. Without a deadline: that is a time of day by this
 * machine's clock, and concerns only appends of several messages.
 */
function batchRequest({ stream, expected_revision, events }: Append): BatchAppendReq {
  const options = new BatchAppendReq.Options();
  options.setStreamIdentifier(new StreamIdentifier().setStreamName(Buffer.from(stream, 'utf8')));
  if (expected_revision === 'no_stream') options.setNoStream(new Empty());
  else options.setStreamPosition(expected_revision.toString());
  return new BatchAppendReq()
    .setOptions(options)
    .setProposedMessagesList(events.map(proposedMessage))
    .setIsFinal(true);
}

function proposedMessage({ id, type, data, metadata }: EventBytes): BatchAppendReq.ProposedMessage {
  const message = new BatchAppendReq.ProposedMessage();
  message.getMetadataMap().set('type', type).set('content-type', 'application/json');
  return message.setId(new UUID().setString(id)).setData(data).setCustomMetadata(metadata);
}

/** What an answer to one of many appends says: resolved with, or thrown, as by the client's append in a call of its own. */
function outcomeOf(answer: BatchAppendResp, stream: string): AppendResult {
  const success = answer.getSuccess();
  if (!success) throw refusal(answer.getError(), stream);
  const place = success.getPosition();
  return {
    success: true,
    nextExpectedRevision: BigInt(success.getCurrentRevision()),
    ...(place && {
      position: {
        commit: BigInt(place.getCommitPosition()),
        prepare: BigInt(place.getPreparePosition()),
      },
    }),
  };
}

function refusal(status: Status | undefined, stream: string): Error {
  const details = status?.getDetails();
  const type = details?.getTypeName() ?? '';
  switch (type) {
    case 'event_store.client.WrongExpectedVersion': {
      const versions = details?.unpack(WrongExpectedVersion.deserializeBinary, type);
      return WrongExpectedVersionError.fromWrongExpectedVersion(
        versions ?? new WrongExpectedVersion(),
        stream,
      );
    }
    case 'event_store.client.MaximumAppendSizeExceeded': {
      const max_bytes = details
        ?.unpack(MaximumAppendSizeExceeded.deserializeBinary, type)
        ?.getMaxappendsize();
      const error = MaxAppendSizeExceededError.fromMaxAppendSize(max_bytes ?? 0);
      return Object.assign(error, { message: `an append above the server's ${max_bytes} bytes` });
    }
    case 'event_store.client.StreamDeleted':
      return Object.assign(StreamDeletedError.fromStreamName(stream), { message: `${stream} is deleted` });
    case 'event_store.client.AccessDenied':
      return new AccessDeniedError(undefined, `access to ${stream} is denied`);
    case 'event_store.client.Timeout':
      return new TimeoutError(undefined, `an append to ${stream} timed out on the server`);
    // Not ready, too busy, no valid request: in a call of its own the server says more clearly which.
    default:
      return new SharedCallError(`an append was refused: ${status?.getMessage() ?? 'for no reason given'}`);
  }
}
