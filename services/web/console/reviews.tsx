import { Stars } from '../shop/parts';
import { TEXTS } from '../shop/texts';
import { Button, Select } from './parts';
import type { Page } from './visit';

const PAGE_SIZE = 50;
const STATUSES = ['pending', 'published', 'rejected', 'all'] as const;

const statusOf = (text: string | null) => STATUSES.find((each) => each === text) ?? 'pending';

export const list: Page = async ({ client, query }) => {
  const status = statusOf(query.get('status'));
  const { data } = await client.reviews.list({ status, limit: PAGE_SIZE }, { consistent: true }).page();
  const body = (
    <>
      <div class="bar">
        <h1>Reviews</h1>
        <form>
          <Select name="status" aria-label="Status" options={STATUSES} selected={status} />
          <button type="submit">Show</button>
        </form>
      </div>
      {data.length === 0 && <p class="empty">No reviews to show.</p>}
      <ul class="reviews">
        {data.map((review) => {
          const button = (label: string, new_status: string) => (
            <Button
              action={`/console/review/${review.id}`}
              label={label}
              name={review.author_name}
              values={{ status: new_status, shown: status }}
            />
          );
          return (
            <li key={review.id}>
              <Stars t={TEXTS.en} rating={review.rating} />
              {review.title && <h2>{review.title}</h2>}
              <p>{review.body}</p>
              <p class="note">
                {`${review.author_name} · ${review.created_at.slice(0, 10)} · ${review.status} · `}
                <a href={`/console/product/${review.publication_id}`}>product</a>
              </p>
              <div class="tags">
                {review.status !== 'published' && button('Publish', 'published')}
                {review.status !== 'rejected' && button('Reject', 'rejected')}
                {button('Delete', 'deleted')}
              </div>
            </li>
          );
        })}
      </ul>
    </>
  );
  return { title: 'Reviews', body };
};

export const moderate: Page = async ({ client, id, form }) => {
  const status = form.get('status');
  if (status === 'deleted') await client.reviews.delete(id);
  else await client.reviews.update(id, { status: status === 'published' ? 'published' : 'rejected' });
  const shown = statusOf(form.get('shown'));
  return { location: `/console/reviews?status=${shown}`, saved: `The review is ${status}.` };
};
