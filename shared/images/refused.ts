/**
 * - `not_an_image`: the bytes are none of the formats that are taken, whatever their name says.
 * - `too_many_pixels`: its header says more pixels than are taken; nothing of it was decoded.
 * - `damaged`: the header is well, and what follows is not, or breaks off.
 * - `too_slow`: it was not rendered in the time that a picture is given.
 */
export type RefusalReason = 'not_an_image' | 'too_many_pixels' | 'damaged' | 'too_slow';

/** A file that no picture can be made of; the same bytes are refused again. */
export class RefusedImage extends Error {
  override readonly name = 'RefusedImage';
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, options: { cause?: unknown } = {}) {
    super(reason, options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
  }
}
