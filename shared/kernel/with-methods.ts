/** Returns `target` with some of its methods replaced. All others run on `target` itself. */
export function withMethods<Target extends object>(target: Target, methods: Partial<Target>): Target {
  const bound = new Map<PropertyKey, unknown>(Object.entries(methods));
  return new Proxy(target, {
    get: (_, name) => {
      if (bound.has(name)) return bound.get(name);
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      bound.set(name, value.bind(target));
      return bound.get(name);
    },
    set: (_, name, value) => {
      bound.set(name, value);
      return true;
    },
  });
}
