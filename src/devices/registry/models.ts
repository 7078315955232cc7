import type { DeviceType } from '../../events/device-type.ts'

/** Families by the start of their model names; the first match decides. */
const families: readonly (readonly [RegExp, DeviceType])[] = [
  [/^(srx|ssr|vsrx|session-?smart|nfx)/, 'gateway'],
  [/^(ex|qfx|ecs|acx|as\d{4}|edgecore[_-](ecs|as)|ols|sonic)/, 'switch'],
  [
    /^(ap|bt|eap|oap|spw|edgecore[_-](eap|oap|spw|ssw)|ssw2ac|cig[_-]|wf\d|hfcl[_-]|ion4|indio|yuncore|ax|ea\d|wallys|actiontec|sercomm|udaya|liteon|openwifi)/,
    'ap',
  ],
]

/** Returns the type that a model's name implies; null if it implies none, and a manifest must name the type. */
export function typeOfModel(model: string): DeviceType | null {
  const name = model.toLowerCase()
  return families.find(([pattern]) => pattern.test(name))?.[1] ?? null
}

/** The names of models of SSR routers and SRX gateways, for JavaScript and PostgreSQL alike; upper and lower case are the same. */
export const modelPatterns = { ssr: '^(ssr|session-?smart)', srx: '^v?srx' } as const

const ssr = new RegExp(modelPatterns.ssr, 'i')

/** True for the name of a model of SSR routers (Session Smart Routers). */
export function isSsrModel(model: string): boolean {
  return ssr.test(model)
}
