import type { Media } from 'catalog-client';
import { Icon } from './icon';
import './thumb.css';

/** A small square picture, cropped around its focal point. Decoration: the text beside it says what it shows. */
export function Thumb({ media, size = 40 }: { readonly media: Media | undefined; readonly size?: number }) {
  const src = media?.variants[0]?.url ?? media?.placeholder;
  return (
    <span className="thumb" style={{ width: size, height: size }}>
      {src ? <img src={src} alt="" loading="lazy" style={focusOf(media)} /> : <Icon name="media" />}
    </span>
  );
}

/** The style with which a cropped picture keeps its focal point in sight. */
export const focusOf = (media: Media | undefined) =>
  media?.focal_point && {
    objectPosition: `${media.focal_point.x * 100}% ${media.focal_point.y * 100}%`,
  };
