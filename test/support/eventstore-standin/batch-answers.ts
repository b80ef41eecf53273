import { AllStreamPosition, StreamIdentifier } from '@eventstore/db-client/generated/shared_pb';
import { Status } from '@eventstore/db-client/generated/status_pb';
import { BatchAppendResp } from '@eventstore/db-client/generated/streams_pb';

/** Returns the response to a stored append that shares a call. The caller adds the correlation id. */
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
  const identifier = new StreamIdentifier().setStreamName(Buffer.from(stream, 'utf8'));
  return new BatchAppendResp().setStreamIdentifier(identifier).setSuccess(success);
}

/** Returns a refusal. The adapter reads no details of it, because it repeats the append in a call of its own. */
export function refused(message: string): BatchAppendResp {
  return new BatchAppendResp().setError(new Status().setMessage(message));
}
