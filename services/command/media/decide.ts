import type {
  MediaEvent,
  MediaFailure,
  MediaPictures,
  MediaState,
  MediaUpload,
} from '../../../shared/catalog/media/media';
import { assertNever } from '../../../shared/kernel/assert-never';
import { accept, type Decision, reject } from '../../../shared/kernel/decision';

export type MediaCommand =
  | { readonly type: 'UploadMedia'; readonly upload: MediaUpload }
  /** What was made of an upload that is gone, or was made already, is let go. */
  | { readonly type: 'RecordPictures'; readonly pictures: MediaPictures }
  | { readonly type: 'RecordFailure'; readonly reason: MediaFailure }
  | { readonly type: 'DeleteMedia' };

export function decideMedia(state: MediaState, command: MediaCommand): Decision<MediaEvent> {
  const processing = state.tag === 'present' && state.media.progress.status === 'processing';
  switch (command.type) {
    case 'UploadMedia':
      if (state.tag === 'absent') return accept({ type: 'MediaUploaded', data: command.upload });
      return reject('lost_race', 'a media with this id exists already');
    case 'RecordPictures':
      return processing ? accept({ type: 'MediaProcessed', data: command.pictures }) : accept();
    case 'RecordFailure':
      return processing ? accept({ type: 'MediaFailed', data: { reason: command.reason } }) : accept();
    case 'DeleteMedia':
      if (state.tag !== 'present') return reject('media_not_found');
      return accept({ type: 'MediaDeleted', data: {} });
    default:
      return assertNever(command, 'media command');
  }
}
