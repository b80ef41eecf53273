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
import { codeOf, NoResponseError, NotSentError, SharedCallError, UNIMPLEMENTED } from './failures';

/** An append request. */
export interface AppendRequest {
  /** The stream's name on the server. */
  readonly stream: string;
  readonly expected_revision: bigint | 'no_stream';
  readonly events: readonly EventBytes[];
}

/** A larger append uses a call of its own: it gains nothing from the shared call, and would delay later appends. */
const SHARED_BYTES_MAX = 256 * 1024;

type Call = ReturnType<StreamsClient['batchAppend']>;

/**
 * Protected methods of the client that open a streaming call. The client then finds the leader, adds the credentials,
 * and ends the call on `dispose()`.
 */
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

interface PendingAppend {
  readonly stream: string;
  readonly request: BatchAppendReq;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Sends the appends of one client over one shared gRPC call (`Streams.BatchAppend`), which the first append opens. This
 * costs the client and the server much less than a call per append. When the shared call ends, its pending appends fail
 * with `SharedCallError`; the caller then repeats each append in a call of its own.
 */
export class SharedAppends {
  private readonly client: StreamingClient;
  private call: SharedCall | undefined;
  private unsupported = false;
  private is_retired = false;

  constructor(client: StreamingClient) {
    this.client = client;
  }

  /** Returns false for a large append, and if the server does not support `BatchAppend`. */
  accepts(append: AppendRequest): boolean {
    return !this.unsupported && bytesOf(append) <= SHARED_BYTES_MAX;
  }

  /**
   * Throws the same errors as the client's `appendToStream` if the server rejects the append, `NoResponseError` after
   * `timeout_ms`, or `NotSentError`, and `SharedCallError` if the call ends before the response. After `NoResponseError`
   * and `SharedCallError`, the events may be stored or not.
   */
  append(append: AppendRequest, timeout_ms: number): Promise<AppendResult> {
    this.call ??= new SharedCall(this.client, (call, cause) => this.onCallEnd(call, cause));
    const { call } = this;
    const result = call.append(append, timeout_ms);
    if (this.is_retired) call.retire();
    return result;
  }

  /** Ends the call as soon as no append is pending, also one that a later append opens. */
  retire(): void {
    this.is_retired = true;
    this.call?.retire();
  }

  /** Ends the call. Pending appends fail. */
  close(): void {
    this.call?.close();
  }

  private onCallEnd(call: SharedCall, cause: unknown): void {
    if (this.call === call) this.call = undefined;
    if (codeOf(cause) === UNIMPLEMENTED) this.unsupported = true;
  }
}

/** One call to `Streams.BatchAppend`, from its opening to its end. */
class SharedCall {
  /** By correlation id. */
  private readonly pending = new Map<string, PendingAppend>();
  /** Ids of appends that are not sent yet, in order. They wait until the call is open and its write buffer has drained. */
  private readonly unsent = new Set<string>();
  private readonly onEnd: (call: SharedCall, cause: unknown) => void;
  private call: Call | undefined;
  private is_retired = false;
  private has_ended = false;

  constructor(client: StreamingClient, onEnd: (call: SharedCall, cause: unknown) => void) {
    this.onEnd = onEnd;
    const open = client.GRPCStreamCreator(StreamsClient, 'batchAppend', (streams) =>
      this.begin(
        streams.batchAppend(...client.callArguments({ requiresLeader: true }, { deadline: Infinity })),
      ),
    );
    open().catch((error: unknown) => this.end(error));
  }

  append(append: AppendRequest, timeout_ms: number): Promise<AppendResult> {
    const id = randomUUID();
    const request = batchRequest(append).setCorrelationId(new UUID().setString(id));
    return new Promise((resolve, reject) => {
      const onTimeout = (): void => {
        const error = this.unsent.has(id)
          ? new NotSentError(`an append could not be sent in ${timeout_ms} ms`)
          : new NoResponseError(`no response to an append in ${timeout_ms} ms`);
        this.removePending(id)?.reject(error);
      };
      const timer = setTimeout(onTimeout, timeout_ms);
      this.pending.set(id, { stream: append.stream, request, resolve, reject, timer });
      this.unsent.add(id);
      this.send();
    });
  }

  retire(): void {
    this.is_retired = true;
    if (this.pending.size === 0) this.close();
  }

  close(): void {
    this.end(new Error('the client was closed'));
    this.call?.cancel();
  }

  private begin(call: Call): Call {
    this.call = call;
    call.on('data', (response: BatchAppendResp) => this.settle(response));
    call.on('drain', () => this.send());
    // The listener is never removed: an `error` event without a listener ends the process.
    call.on('error', (error) => this.end(error));
    call.on('end', () => this.end(undefined));
    call.on('close', () => this.end(undefined));
    // If `close` was called while the call was opening, it could not cancel the call.
    if (this.has_ended) call.cancel();
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
        call.write(this.pending.get(id)!.request);
      } catch (cause) {
        this.removePending(id)?.reject(new SharedCallError('an append could not be sent', { cause }));
      }
    }
  }

  /** Settles the append that the response belongs to. Ignores a response that arrives after the timeout. */
  private settle(response: BatchAppendResp): void {
    const pending = this.removePending(response.getCorrelationId()?.getString());
    if (!pending) return;
    try {
      pending.resolve(resultOf(response, pending.stream));
    } catch (error) {
      pending.reject(error);
    }
  }

  /** Removes and returns the pending append. */
  private removePending(id: string | undefined): PendingAppend | undefined {
    const pending = id === undefined ? undefined : this.pending.get(id);
    if (id === undefined || !pending) return undefined;
    this.pending.delete(id);
    this.unsent.delete(id);
    clearTimeout(pending.timer);
    if (this.is_retired && this.pending.size === 0) this.close();
    return pending;
  }

  private end(cause: unknown): void {
    if (this.has_ended) return;
    this.has_ended = true;
    this.onEnd(this, cause);
    const error = new SharedCallError('the shared call of several appends has ended', { cause });
    for (const id of [...this.pending.keys()]) this.removePending(id)?.reject(error);
    // If the server ended the call without an error, grpc-js keeps it half-open until this side ends it as well.
    this.call?.end();
  }
}

/** Returns the size of all data and metadata together. */
function bytesOf({ events }: AppendRequest): number {
  return events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);
}

/**
 * Returns the append as one message, without its correlation id. The message has no deadline, for two reasons: the
 * server would compare it with its own clock, and the server ignores it if the append fits in one message.
 */
function batchRequest({ stream, expected_revision, events }: AppendRequest): BatchAppendReq {
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

/** Returns the result in the response, or throws its error: the same as the client's `appendToStream`. */
function resultOf(response: BatchAppendResp, stream: string): AppendResult {
  const success = response.getSuccess();
  if (!success) throw toError(response.getError(), stream);
  const position = success.getPosition();
  return {
    success: true,
    nextExpectedRevision: BigInt(success.getCurrentRevision()),
    ...(position && {
      position: {
        commit: BigInt(position.getCommitPosition()),
        prepare: BigInt(position.getPreparePosition()),
      },
    }),
  };
}

function toError(status: Status | undefined, stream: string): Error {
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
      return Object.assign(error, {
        message: `the append is larger than the server's maximum of ${max_bytes} bytes`,
      });
    }
    case 'event_store.client.StreamDeleted':
      return Object.assign(StreamDeletedError.fromStreamName(stream), {
        message: `stream ${stream} is deleted`,
      });
    case 'event_store.client.AccessDenied':
      return new AccessDeniedError(undefined, `access to stream ${stream} is denied`);
    case 'event_store.client.Timeout':
      return new TimeoutError(undefined, `the append to stream ${stream} timed out on the server`);
    // Not ready, too busy, or an invalid request. The caller repeats the append in a call of its own, which gives a more
    // precise error.
    default:
      return new SharedCallError(
        `an append was refused: ${status?.getMessage() ?? 'the server gave no reason'}`,
      );
  }
}
