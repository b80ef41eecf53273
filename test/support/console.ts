import { fetch } from './fetch';
import type { Harness } from './harness';

interface Sent {
  readonly form?: Record<string, string> | URLSearchParams | FormData;
  readonly headers?: Record<string, string>;
}

/** Opens a page, or sends a form as a browser does from a page of the same site. */
export async function openPage(url: string, { form, headers = {} }: Sent = {}) {
  const body = form instanceof FormData ? form : form && new URLSearchParams(form);
  const answer = await fetch(url, {
    redirect: 'manual',
    ...(body && { method: 'POST', body }),
    headers: { ...(body && { origin: new URL(url).origin }), ...headers },
  });
  const location = answer.headers.get('location') ?? '';
  return { status: answer.status, headers: answer.headers, html: await answer.text(), location };
}

/** A merchant who uses the console as a browser without client script does. */
export class ConsoleVisitor {
  cookie = '';

  constructor(private readonly harness: Harness) {}

  /** Keeps the cookie of the answer, if it is not refused. */
  async signIn(key: string) {
    const answer = await this.open('/sign-in', { form: { key } });
    this.cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
    return answer;
  }

  open(path: string, sent: Sent = {}) {
    const headers = { ...(this.cookie && { cookie: this.cookie }), ...sent.headers };
    return openPage(`${this.harness.url}/console${path}`, { ...sent, headers });
  }
}
