import { arrayBuffer } from 'node:stream/consumers';
import { UPLOAD_BYTES_MAX } from '../../../shared/api/requests/writes';
import { PUBLICATION_MEDIA_MAX } from '../../../shared/catalog/publication/fields';
import type { CatalogClient, Media, Publication } from '../../../shared/client';
import { receiveForm } from '../../../shared/http/upload';
import { Picture } from '../shop/parts';
import { InvalidText, ifMatchOf } from './fields';
import { arranged, MoveButton, OrderScript } from './order';
import { Submit } from './parts';
import { noticeOf, type Page } from './visit';

/** Returns all pictures of a product. The product was read with the first pictures. */
export async function picturesOf(
  client: CatalogClient,
  { id, media }: Publication,
): Promise<readonly Media[]> {
  if (!media?.has_more) return media?.data ?? [];
  const query = { publication_id: id, visibility: 'all', limit: PUBLICATION_MEDIA_MAX } as const;
  return (await client.media.list(query).page()).data;
}

/** The pictures of a product, with buttons that change their order, and a form that adds some. */
export function Pictures({ id, etag, pictures }: PicturesProps) {
  const path = `/console/product/${id}`;
  return (
    <section class="panel">
      <h2>Pictures</h2>
      <form method="post" action={`${path}/pictures`}>
        <input type="hidden" name="etag" value={etag} />
        <ol class="pictures" data-order="across">
          {pictures.map((media, index) => (
            <li key={media.id}>
              <input type="hidden" name="media_id" value={media.id} />
              <div class="card">
                {media.status === 'processing' && 'Not ready yet. Load the page again.'}
                {media.status === 'failed' && 'This file is damaged.'}
                <Picture media={media} alt="" sizes="8rem" />
              </div>
              {index > 0 && (
                <MoveButton move="first" id={media.id} label="First" name={`picture ${index + 1}`} />
              )}
              <MoveButton move="remove" id={media.id} label="Remove" name={`picture ${index + 1}`} />
            </li>
          ))}
        </ol>
        <OrderScript />
      </form>
      <form method="post" action={`${path}/upload`} enctype="multipart/form-data">
        <label>
          <span>
            New pictures <small>JPEG, PNG, WebP, GIF or AVIF of at most 10 MB each</small>
          </span>
          <input type="file" name="file" accept="image/*" multiple required />
        </label>
        <Submit label="Upload" />
      </form>
    </section>
  );
}

interface PicturesProps {
  readonly id: string;
  readonly etag: string | undefined;
  readonly pictures: readonly Media[];
}

/** Changes the order of the pictures that the page has shown, or removes one picture. */
export const arrangePictures: Page = async ({ client, id, form }) => {
  const media_ids = arranged(form.getAll('media_id'), form);
  await client.publications.update(id, { media_ids }, ifMatchOf(form));
  return { location: `/console/product/${id}`, saved: 'The pictures are saved.' };
};

/** Adds the files to the product, one after the other. If a file is refused, the files before it stay. */
export const addPictures: Page = async ({ client, id, req }) => {
  const { files } = await receiveForm(req, {
    bytes_max: UPLOAD_BYTES_MAX,
    files_max: PUBLICATION_MEDIA_MAX,
    keep: async (bytes, file_name) => {
      try {
        return await client.media.upload(new Blob([await arrayBuffer(bytes)]), { publication_id: id });
      } catch (error) {
        throw new InvalidText('file', `${file_name || 'No file'}: ${noticeOf(error).text}`);
      }
    },
  });
  if (files.length === 0) throw new InvalidText('file', 'Choose a picture.');
  const saved = files.length === 1 ? '1 picture was added.' : `${files.length} pictures were added.`;
  return { location: `/console/product/${id}`, saved };
};
