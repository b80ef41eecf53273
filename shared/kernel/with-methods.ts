/** Returns an object like `target` with some of its methods replaced. All others run on `target` itself. */
export function withMethods<Target extends object>(target: Target, methods: Partial<Target>): Target {
  const bound = methodsOf(target).map(([name, method]) => [name, method.bind(target)]);
  return Object.assign(Object.create(target), Object.fromEntries(bound), methods);
}

type Method = (...parameters: unknown[]) => unknown;

/** Returns the methods of an object and its classes by name. Methods of a subclass come last. */
function methodsOf(target: object): (readonly [string, Method])[] {
  const own = Object.entries(Object.getOwnPropertyDescriptors(target))
    .filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function')
    .map(([name, { value }]) => [name, value as Method] as const);
  const parent: object | null = Object.getPrototypeOf(target);
  return parent === null || parent === Object.prototype ? own : [...methodsOf(parent), ...own];
}
