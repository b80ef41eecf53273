import { readFileSync } from 'node:fs';
import { run } from './programs';

/** Returns the configuration that the command in the page about Kubernetes makes from `docs/gateway/nginx.conf`. */
export function gatewayOfKubernetes(): string {
  const page = readFileSync('docs/operations/kubernetes/README.md', 'utf8');
  const [, script, file] = /^sed -E '(.*)' (\S+) > nginx\.conf$/m.exec(page)!;
  return run('sed', ['-E', script!, file!]);
}
