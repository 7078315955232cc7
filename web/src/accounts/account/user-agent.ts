/** Each is looked for in this order, because browsers name those that they descend from as well. */
const browsers = [
  [/Edg(e|A|iOS)?\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/(Headless)?Chrom(e|ium)\//, 'Chrome'],
  [/Safari\//, 'Safari'],
] as const
const systems = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
] as const

/** Returns a browser as people know it, such as "Firefox on Linux"; for a program, the first word that it says. */
export function browserOf(agent: string | undefined): string {
  if (agent === undefined || agent === '') return 'An unknown browser'
  const browser = browsers.find(([pattern]) => pattern.test(agent))?.[1]
  if (browser === undefined) return agent.split(' ', 1)[0] ?? agent
  const system = systems.find(([pattern]) => pattern.test(agent))?.[1]
  return system === undefined ? browser : `${browser} on ${system}`
}
