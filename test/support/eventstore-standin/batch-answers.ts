import { Code } from '@eventstore/db-client/generated/code_pb';
import {
  AccessDenied,
  AllStreamPosition,
  BadRequest,
  MaximumAppendSizeExceeded,
  StreamDeleted,
  StreamIdentifier,
  Timeout,
  WrongExpectedVersion,
} from '@eventstore/db-client/generated/shared_pb';
import { Status } from '@eventstore/db-client/generated/status_pb';
import { BatchAppendResp } from '@eventstore/db-client/generated/streams_pb';
import { Any } from 'google-protobuf/google/protobuf/any_pb';
import { Empty } from 'google-protobuf/google/protobuf/empty_pb';
import type { Expected } from './records';

/** Responses to appends that share a call. The caller adds the correlation id. */
export function accepted(
  stream: string,
  { revision, position }: { revision: bigint; position: bigint },
): BatchAppendResp {
  const place = new AllStreamPosition();
  place.setCommitPosition(position.toString());
  place.setPreparePosition(position.toString());
  const success = new BatchAppendResp.Success();
  success.setCurrentRevision(revision.toString());
  success.setPosition(place);
  return new BatchAppendResp().setStreamIdentifier(identifier(stream)).setSuccess(success);
}

/** Refusals, each with a code, a name and details. Clients read the details. */
export const refused = {
  wrongRevision(stream: string, expected: Expected, current: bigint | undefined): BatchAppendResp {
    const wrong = new WrongExpectedVersion();
    if (current === undefined) wrong.setCurrentNoStream(new Empty());
    else wrong.setCurrentStreamRevision(current.toString());
    if (expected.kind === 'revision') wrong.setExpectedStreamPosition(expected.revision.toString());
    else if (expected.kind === 'no_stream') wrong.setExpectedNoStream(new Empty());
    else if (expected.kind === 'stream_exists') wrong.setExpectedStreamExists(new Empty());
    else wrong.setExpectedAny(new Empty());
    return refusal(Code.ALREADY_EXISTS, 'WrongExpectedVersion', wrong, stream);
  },
  deleted(stream: string): BatchAppendResp {
    const deleted = new StreamDeleted().setStreamIdentifier(identifier(stream));
    return refusal(Code.NOT_FOUND, 'StreamDeleted', deleted, stream);
  },
  denied: (stream: string) => refusal(Code.PERMISSION_DENIED, 'AccessDenied', new AccessDenied(), stream),
  tooLarge(stream: string, max_bytes: number): BatchAppendResp {
    const exceeded = new MaximumAppendSizeExceeded().setMaxappendsize(max_bytes);
    return refusal(Code.INVALID_ARGUMENT, 'MaximumAppendSizeExceeded', exceeded, stream);
  },
  timedOut: () => refusal(Code.DEADLINE_EXCEEDED, 'Timeout', new Timeout()),
  badRequest: (message: string) =>
    refusal(Code.INVALID_ARGUMENT, 'BadRequest', new BadRequest().setMessage(message)),
  /** The server sends this one as a message without details. */
  notReady(): BatchAppendResp {
    const details = new Any();
    details.pack(new Empty().serializeBinary(), 'google.protobuf.Empty');
    return new BatchAppendResp().setError(new Status().setMessage('Server Is Not Ready').setDetails(details));
  },
};

function refusal(
  code: Code,
  name: string,
  details: { serializeBinary(): Uint8Array },
  stream?: string,
): BatchAppendResp {
  const packed = new Any();
  packed.pack(details.serializeBinary(), `event_store.client.${name}`);
  const response = new BatchAppendResp();
  if (stream !== undefined) response.setStreamIdentifier(identifier(stream));
  return response.setError(new Status().setCode(code).setMessage(name).setDetails(packed));
}

function identifier(stream: string): StreamIdentifier {
  return new StreamIdentifier().setStreamName(Buffer.from(stream, 'utf8'));
}
