import { fetch } from './fetch';
import type { Harness } from './harness';

interface Sent {
  readonly form?: Record<string, string> | URLSearchParams | FormData;
  readonly headers?: Record<string, string>;
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

  /** Opens a page, or sends a form as a browser does from a page of the console. */
  async open(path: string, { form, headers = {} }: Sent = {}) {
    const { url } = this.harness;
    const body = form instanceof FormData ? form : form && new URLSearchParams(form);
    const sent = body && { method: 'POST', body, headers: { origin: url } };
    const answer = await fetch(`${url}/console${path}`, {
      redirect: 'manual',
      ...sent,
      headers: { ...(this.cookie && { cookie: this.cookie }), ...sent?.headers, ...headers },
    });
    const location = answer.headers.get('location') ?? '';
    return { status: answer.status, headers: answer.headers, html: await answer.text(), location };
  }
}
