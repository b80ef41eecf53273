import { within } from './wait-for';

/**
 * Returns `port` with a time limit for every call. A call that is pending for a minute rejects with an error that contains
 * `name` and the method. If a call returns an object with `stop`, such as a worker, its calls are limited, too.
 */
export function bounded<Port extends object>(port: Port, name: string): Port {
  return new Proxy(port, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== 'function' || key === 'constructor') return member;
      const call = `${name}.${String(key)}()`;
      return (...args: unknown[]) => {
        const result: unknown = member.apply(target, args);
        return isPromise(result) ? within(result, call).then((value) => stoppable(value, call)) : result;
      };
    },
  });
}

const isPromise = (value: unknown): value is Promise<unknown> =>
  typeof (value as Promise<unknown> | undefined)?.then === 'function';

const stoppable = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && 'stop' in value ? bounded(value, name) : value;
