import type { ComponentChildren } from 'preact';
import type { Store } from '../../../shared/client';
import type { Notice } from './fields';
import { Button, Submit } from './parts';

/** The content of the header of a page. */
export interface Site {
  readonly name: string;
  readonly home: string;
  readonly sign_out: string;
  /** Empty before the sign-in. */
  readonly sections: readonly (readonly [path: string, label: string])[];
}

interface LayoutProps {
  readonly title: string;
  readonly style: string;
  readonly site: Site;
  readonly notice?: Notice | undefined;
  readonly children: ComponentChildren;
}

const SECTIONS = [
  ['/console/products', 'Products'],
  ['/console/listings', 'Listings'],
  ['/console/imports', 'Imports'],
  ['/console/reviews', 'Reviews'],
  ['/console/webhooks', 'Webhooks'],
  ['/console/keys', 'Keys'],
  ['/console/store', 'Store'],
] as const;

/** The site of a merchant. `store` is undefined before the sign-in. */
export const siteOf = (store: Store | undefined): Site => ({
  name: store?.name ?? 'Catalog',
  home: '/console',
  sign_out: '/console/sign-out',
  sections: store ? SECTIONS : [],
});

export function Layout({ title, style, site, notice, children }: LayoutProps) {
  const { name, home, sign_out, sections } = site;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${title} · ${name} console`}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href={style} />
      </head>
      <body>
        <a class="skip" href="#main">
          To the content
        </a>
        <header>
          <div class="wrap">
            <a class="brand" href={home}>
              {name}
            </a>
            {sections.length > 0 && (
              <nav aria-label="Console">
                <ul>
                  {sections.map(([path, label]) => (
                    <li key={path}>
                      <a href={path} aria-current={title === label ? 'page' : undefined}>
                        {label}
                      </a>
                    </li>
                  ))}
                </ul>
              </nav>
            )}
            {sections.length > 0 && <Button action={sign_out} label="Sign out" />}
          </div>
        </header>
        <main id="main" class="wrap">
          {notice && (
            <div class={notice.is_bad ? 'message bad' : 'message'} role={notice.is_bad ? 'alert' : 'status'}>
              <p>{notice.text}</p>
              {notice.details && notice.details.length > 0 && (
                <ul>
                  {notice.details.map((line) => (
                    <li key={line}>{line}</li>
                  ))}
                </ul>
              )}
            </div>
          )}
          {children}
        </main>
      </body>
    </html>
  );
}

type SignInText = 'heading' | 'note' | 'label' | 'name' | 'action';

export const SignIn = ({ heading, note, label, name, action }: Record<SignInText, string>) => (
  <form class="panel narrow" method="post" action={action}>
    <h1>{heading}</h1>
    <p class="note">{note}</p>
    <label>
      <span>{label}</span>
      <input name={name} type="password" autocomplete="current-password" required />
    </label>
    <Submit label="Sign in" />
  </form>
);

export interface MessageProps {
  readonly heading: string;
  readonly hint: string;
  /** A link to another page. */
  readonly back?: readonly [path: string, label: string];
}

export const Message = ({ heading, hint, back = SECTIONS[0] }: MessageProps) => (
  <div class="empty">
    <h1>{heading}</h1>
    <p>{hint}</p>
    <a href={back[0]}>{back[1]}</a>
  </div>
);
