import type { Texts } from '../../texts/texts';

/** What the service takes (docs/interface/imports.md). */
const BYTES_MAX = 50_000_000;
/** How workbooks (.xlsx) begin. The service says what is wrong with another packed file. */
const PACKED = 'PK\u0003\u0004';

/** Returns why a file cannot be imported, undefined if it can be uploaded. Reads all of it. */
export async function faultOf(file: File): Promise<keyof Texts['imports']['faults'] | undefined> {
  if (file.size > BYTES_MAX) return 'tooLarge';
  try {
    if (file.size === 0) return 'empty';
    if ((await file.slice(0, PACKED.length).text()) === PACKED) return undefined;
    const decoder = new TextDecoder('utf-8', { fatal: true });
    const reader = file.stream().getReader();
    for (;;) {
      const { done, value } = await reader.read();
      decoder.decode(value, { stream: !done });
      if (done) return undefined;
    }
  } catch (error) {
    // A decoder throws `TypeError` for bytes that are no text. Other errors come from the file system.
    return error instanceof TypeError ? 'encoding' : 'unreadable';
  }
}
