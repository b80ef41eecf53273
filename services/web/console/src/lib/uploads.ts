import { CatalogApiError, type Media } from 'catalog-client';
import { useRef, useState } from 'react';
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
  const queue = useRef({ waiting: [] as (() => Promise<void>)[], running: 0 });
  const change = (id: string, fields: Partial<Upload>) =>
    setUploads((all) => all.map((each) => (each.id === id ? { ...each, ...fields } : each)));
  const dismiss = (id: string) => setUploads((all) => all.filter((each) => each.id !== id));

  const startNext = () => {
    const next = queue.current.running < PARALLEL_MAX ? queue.current.waiting.shift() : undefined;
    if (!next) return;
    queue.current.running++;
    void next().finally(() => {
      queue.current.running--;
      startNext();
    });
    startNext();
  };
  const send = (files: Iterable<File>) => {
    for (const file of files) {
      const id = crypto.randomUUID();
      const fault = faultOf(file, t);
      setUploads((all) => [
        ...all,
        { id, name: file.name, state: fault ? 'refused' : 'waiting', ...(fault && { fault }) },
      ]);
      if (fault) continue;
      queue.current.waiting.push(async () => {
        change(id, { state: 'sending' });
        try {
          const media = await client.media.upload(file);
          onStored(media);
          change(id, { state: 'processing' });
          const { status } = await client.media.processed(media.id);
          onReady();
          if (status === 'ready') dismiss(id);
          else change(id, { state: 'refused', fault: t.media.damaged });
        } catch (error) {
          change(id, { state: 'refused', fault: reasonOf(error, t) });
        }
      });
    }
    startNext();
  };
  return { uploads, send, dismiss };
}
