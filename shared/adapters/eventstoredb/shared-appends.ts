import { randomUUID } from 'node:crypto';
import type { AppendResult, EventStoreDBClient } from '@eventstore/db-client';
import { Empty, StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb';
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb';
import { BatchAppendReq, type BatchAppendResp } from '@eventstore/db-client/generated/streams_pb';
import { type EventBytes, toEventData } from './events';
import { codeOf, UNIMPLEMENTED } from './failures';

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
 * The client, with its protected methods that open a streaming call. The client then finds the leader, adds the
 * credentials, and ends the call on `dispose()`.
 */
export interface StreamingClient extends Pick<EventStoreDBClient, 'appendToStream'> {
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

/** Settles an append. Undefined: the shared call gave no result. */
type Settle = (result: AppendResult | undefined) => void;

/**
 * Sends the appends of one client over one shared gRPC call (`Streams.BatchAppend`), which the first append opens. With one
 * call per append, client and server would need three times as much CPU time.
 *
 * If the server refuses an append, or the shared call ends before the response, the client repeats this append in a call of
 * its own. The error of that call belongs to this append, while the server may have ended the shared call because of
 * another one. The repetition has the same event ids and revision, so the server stores its events once.
 */
export class SharedAppends {
  private call: SharedCall | undefined;
  private unsupported = false;
  private is_retired = false;

  constructor(private readonly client: StreamingClient) {}

  /** Throws the errors of the client's `appendToStream`. */
  async append(request: AppendRequest): Promise<AppendResult> {
    const is_shared = !this.unsupported && bytesOf(request) <= SHARED_BYTES_MAX;
    const result = is_shared ? await this.appendShared(request) : undefined;
    if (result) return result;
    // The caller repeats it with the client in use.
    if (is_shared && this.is_retired) throw new Error('a closed channel');
    return this.appendAlone(request);
  }

  private appendShared(request: AppendRequest): Promise<AppendResult | undefined> {
    this.call ??= new SharedCall(this.client, (ended, cause) => {
      if (this.call === ended) this.call = undefined;
      if (codeOf(cause) === UNIMPLEMENTED) this.unsupported = true;
    });
    const { call } = this;
    const result = call.append(request);
    if (this.is_retired) call.retire();
    return result;
  }

  private appendAlone({ stream, expected_revision, events }: AppendRequest): Promise<AppendResult> {
    const options = { expectedRevision: expected_revision, requiresLeader: true };
    return this.client.appendToStream(stream, events.map(toEventData), options);
  }

  /** Ends the call as soon as no append is pending, also one that a later append opens. */
  retire(): void {
    this.is_retired = true;
    this.call?.retire();
  }

  /** Ends the call. */
  close(): void {
    this.is_retired = true;
    this.call?.close();
  }
}

/** One call to `Streams.BatchAppend`, from its opening to its end. */
class SharedCall {
  /** By correlation id. */
  private readonly pending = new Map<string, Settle>();
  private readonly opening: Promise<Call>;
  private is_retired = false;
  private has_ended = false;

  constructor(
    client: StreamingClient,
    private readonly onEnd: (call: SharedCall, cause: unknown) => void,
  ) {
    const open = client.GRPCStreamCreator(StreamsClient, 'batchAppend', (streams) =>
      this.begin(
        streams.batchAppend(...client.callArguments({ requiresLeader: true }, { deadline: Infinity })),
      ),
    );
    this.opening = open();
    this.opening.catch((error: unknown) => this.end(error));
  }

  append(request: AppendRequest): Promise<AppendResult | undefined> {
    const id = randomUUID();
    const message = batchRequest(request).setCorrelationId(new UUID().setString(id));
    return new Promise((resolve) => {
      this.pending.set(id, resolve);
      this.opening.then((call) => this.has_ended || call.write(message)).catch(() => this.settle(id));
    });
  }

  retire(): void {
    this.is_retired = true;
    if (this.pending.size === 0) this.close();
  }

  close(): void {
    this.end(undefined);
    this.opening.then((call) => call.cancel()).catch(() => {});
  }

  private begin(call: Call): Call {
    call.on('data', (response: BatchAppendResp) =>
      this.settle(response.getCorrelationId()?.getString() ?? '', resultOf(response)),
    );
    // The listener is never removed: an `error` event without a listener ends the process.
    call.on('error', (error) => this.end(error));
    call.on('end', () => {
      this.end(undefined);
      // If the server ended the call without an error, grpc-js keeps it half-open until this side ends it as well.
      call.end();
    });
    call.on('close', () => this.end(undefined));
    return call;
  }

  private settle(id: string, result?: AppendResult): void {
    this.pending.get(id)?.(result);
    this.pending.delete(id);
    if (this.is_retired && this.pending.size === 0) this.close();
  }

  private end(cause: unknown): void {
    if (this.has_ended) return;
    this.has_ended = true;
    this.onEnd(this, cause);
    for (const id of [...this.pending.keys()]) this.settle(id);
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

/** Returns undefined if the server refused the append. */
function resultOf(response: BatchAppendResp): AppendResult | undefined {
  const success = response.getSuccess();
  const position = success?.getPosition();
  return (
    success && {
      success: true,
      nextExpectedRevision: BigInt(success.getCurrentRevision()),
      ...(position && {
        position: {
          commit: BigInt(position.getCommitPosition()),
          prepare: BigInt(position.getPreparePosition()),
        },
      }),
    }
  );
}
