import { CatalogApiError, type Media } from 'catalog-client';
import { useState } from 'react';
import { type Texts, useTexts } from '../texts/texts';
import { useApi } from './api';
import { messageOf } from './errors';

/** The types and the size that the service takes (docs/interface/media.md). */
export const PICTURE_TYPES = ['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'image/avif'];
const BYTES_MAX = 10_485_760;
/** Uploads at the same time. The others wait. */
const PARALLEL_MAX = 3;

/** A file on its way. It leaves the list when its pictures are made. */
export interface Upload {
  readonly id: string;
  readonly name: string;
  readonly state: 'waiting' | 'sending' | 'processing' | 'refused';
  /** Why it was refused. */
  readonly fault?: string;
}

function faultOf(file: File, t: Texts): string | undefined {
  if (!PICTURE_TYPES.includes(file.type)) return t.media.notPicture;
  return file.size > BYTES_MAX ? t.media.tooLarge : undefined;
}

function reasonOf(error: unknown, t: Texts): string {
  const status = error instanceof CatalogApiError ? error.status : undefined;
  if (status === 415) return t.media.notPicture;
  return status === 413 ? t.media.tooLarge : messageOf(error, t);
}

/**
 * Uploads files, some at a time. `onStored` is called with each media as soon as it is stored, and `onReady` when its pictures
 * are made. A file that is refused stays in the list with the reason.
 */
export function useUploads(onStored: (media: Media) => unknown, onReady: () => unknown) {
  const t = useTexts();
  const { client } = useApi();
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const [queue] = useState(() => ({
    waiting: [] as (() => Promise<void>)[],
    storing: new Set<Promise<void>>(),
  }));
  const change = (id: string, fields: Partial<Upload>) =>
    setUploads((all) => all.map((each) => (each.id === id ? { ...each, ...fields } : each)));
  const dismiss = (id: string) => setUploads((all) => all.filter((each) => each.id !== id));
  const refuse = (id: string, fault: string) => change(id, { state: 'refused', fault });

  const startNext = () => {
    const next = queue.storing.size < PARALLEL_MAX ? queue.waiting.shift() : undefined;
    if (!next) return;
    const storing = next().finally(() => {
      queue.storing.delete(storing);
      startNext();
    });
    queue.storing.add(storing);
    startNext();
  };
  const prepare = async (id: string, media: Media) => {
    change(id, { state: 'processing' });
    const { status } = await client.media.processed(media.id);
    onReady();
    if (status === 'ready') dismiss(id);
    else refuse(id, t.media.damaged);
  };
  /** Refuses the files after the first `room`. */
  const send = (files: Iterable<File>, room = Number.POSITIVE_INFINITY) => {
    for (const [index, file] of [...files].entries()) {
      const id = crypto.randomUUID();
      const fault = index < room ? faultOf(file, t) : t.media.tooMany;
      setUploads((all) => [
        ...all,
        { id, name: file.name, state: fault ? 'refused' : 'waiting', ...(fault && { fault }) },
      ]);
      if (fault) continue;
      queue.waiting.push(async () => {
        change(id, { state: 'sending' });
        const failed = (error: unknown) => refuse(id, reasonOf(error, t));
        try {
          const media = await client.media.upload(file);
          onStored(media);
          void prepare(id, media).catch(failed);
        } catch (error) {
          failed(error);
        }
      });
    }
    startNext();
  };
  /** Resolves when all files are stored or refused. */
  const settled = async (): Promise<void> => {
    while (queue.storing.size > 0) await Promise.all(queue.storing);
  };
  return { uploads, send, dismiss, settled };
}
