import { type Static, Type } from 'typebox'
import { invalidField } from '../../platform/errors.ts'
import { named } from '../../http/schemas.ts'
import { parseMac } from '../device.ts'
import { planActivePorts, planCompliance } from './plan-metrics.ts'
import type { MetricsDevice } from './store-metrics.ts'

/** Source: contract, `getSiteSwitchesMetrics`. */
export const SwitchMetricsQuery = Type.Object({
  type: Type.Optional(Type.Enum(['active_ports_summary'], { description: 'this metric alone; default: all' })),
  scope: Type.Optional(
    Type.Enum(['site', 'switch'], { default: 'site', description: '`switch`: of `switch_mac` alone' }),
  ),
  switch_mac: Type.Optional(Type.String({ description: 'a MAC address in any spelling; requires the scope `switch`' })),
})

/** @returns The MAC of the only switch, or null for all of the site. @throws AppError invalid naming the field. */
export function parseSwitchScope({
  scope = 'site',
  switch_mac: given,
}: Static<typeof SwitchMetricsQuery>): string | null {
  if (scope === 'switch' && !given) throw invalidField('switch_mac', 'is required for the scope `switch`')
  if (!given) return null
  const mac = parseMac(given)
  if (mac === null) throw invalidField('switch_mac', `${JSON.stringify(given.slice(0, 50))} is no MAC address`)
  return mac
}

const score = Type.Integer({ description: 'percent' })
const switches = { score, total_switch_count: Type.Integer() }

/** A metric that follows from nothing that the switches reported is left out. Source: contract, `response_switch_metrics`. */
export const SwitchMetricsReply = named(
  'SwitchMetrics',
  Type.Object({
    active_ports_summary: Type.Optional(
      Type.Object({
        ...switches,
        details: Type.Object({ active_port_count: Type.Integer(), total_port_count: Type.Integer() }),
      }),
    ),
    version_compliance: Type.Optional(
      Type.Object({
        ...switches,
        details: Type.Object({
          major_versions: Type.Array(
            Type.Object({
              model: Type.String(),
              major_version: Type.String({ description: 'the version that most switches of the model run' }),
              major_count: Type.Integer({ description: 'how many run it' }),
              system_names: Type.Array(Type.String(), { description: 'those that run another one' }),
            }),
          ),
        }),
      }),
    ),
  }),
)

export function presentSwitchMetrics(
  devices: readonly MetricsDevice[],
  { type }: Static<typeof SwitchMetricsQuery>,
): Static<typeof SwitchMetricsReply> {
  const ports = planActivePorts(devices)
  const compliance = type === undefined ? planCompliance(devices) : null
  return {
    ...(ports !== null && {
      active_ports_summary: {
        details: { active_port_count: ports.active, total_port_count: ports.total },
        score: ports.score,
        total_switch_count: ports.devices,
      },
    }),
    ...(compliance !== null && {
      version_compliance: {
        details: {
          major_versions: compliance.versions.map(({ model, version, count, others }) => ({
            model,
            major_version: version,
            major_count: count,
            system_names: [...others],
          })),
        },
        score: compliance.score,
        total_switch_count: compliance.total,
      },
    }),
  }
}

/** Source: contract, `gateway_metrics`. */
export const GatewayMetricsReply = named(
  'GatewayMetrics',
  Type.Object({
    version_compliance: Type.Optional(
      Type.Object({
        type: Type.Literal('gateway'),
        score,
        major_version: Type.Record(
          Type.String(),
          Type.Object({
            major_version: Type.String({ description: 'the version that most gateways of the model run' }),
            major_count: Type.Integer({ description: 'how many run it' }),
          }),
          { description: 'by model' },
        ),
      }),
    ),
  }),
)

export function presentGatewayMetrics(devices: readonly MetricsDevice[]): Static<typeof GatewayMetricsReply> {
  const compliance = planCompliance(devices)
  if (compliance === null) return {}
  const byModel = compliance.versions.map(({ model, version, count }) => {
    return [model, { major_version: version, major_count: count }] as const
  })
  return {
    version_compliance: { type: 'gateway', score: compliance.score, major_version: Object.fromEntries(byModel) },
  }
}
