import { type Static, Type } from 'typebox'
import { invalidField } from '../../platform/errors.ts'
import { named } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import { plainMac } from '../device.ts'
import { type ConfigTotals, MAX_SYSTEM_NAMES, type MajorVersion, type PortTotals } from './store-metrics.ts'

/** Source: contract, `getSiteSwitchesMetrics`. */
export const SwitchMetricsQuery = Type.Object({
  type: Type.Optional(Type.Enum(['active_ports_summary'], { description: 'only this metric; default: all' })),
  scope: Type.Optional(
    Type.Enum(['site', 'switch'], { default: 'site', description: '`switch`: of `switch_mac` only' }),
  ),
  switch_mac: Type.Optional(textOf('mac', { description: 'in any spelling; requires the scope `switch`' })),
})

/** @returns The MAC of the only switch, or null for all of the site. @throws AppError invalid naming the field. */
export function parseSwitchScope({
  scope = 'site',
  switch_mac: given,
}: Static<typeof SwitchMetricsQuery>): string | null {
  if (scope === 'switch' && !given) throw invalidField('switch_mac', 'is required for the scope `switch`')
  if (given === undefined) return null
  if (scope !== 'switch') throw invalidField('switch_mac', 'is allowed only with the scope `switch`')
  return plainMac(given)
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
    config_success: Type.Optional(
      Type.Object({
        ...switches,
        details: Type.Object({
          config_success_count: Type.Integer({
            description: 'how many have applied the newest one that they received',
          }),
        }),
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
              system_names: Type.Array(Type.String(), {
                description: `those that run another one; of all models together the first ${MAX_SYSTEM_NAMES}, by model and MAC`,
              }),
            }),
          ),
        }),
      }),
    ),
  }),
)

/** The metrics of a site that no port has part in. */
export interface SiteMetrics {
  readonly config: ConfigTotals
  readonly versions: readonly MajorVersion[]
}

/** @param rest Null if the request excludes them. */
export function presentSwitchMetrics(ports: PortTotals, rest: SiteMetrics | null): Static<typeof SwitchMetricsReply> {
  return {
    ...presentPorts(ports),
    ...(rest !== null && { ...presentConfigs(rest.config), ...presentVersions(rest.versions) }),
  }
}

function presentPorts(ports: PortTotals): Static<typeof SwitchMetricsReply> {
  return {
    ...(ports.reported > 0 && {
      active_ports_summary: {
        details: { active_port_count: ports.active, total_port_count: ports.total },
        score: percentOf(ports.active, ports.total),
        total_switch_count: ports.reported,
      },
    }),
  }
}

function presentConfigs({ reported, applied }: ConfigTotals): Static<typeof SwitchMetricsReply> {
  if (reported === 0) return {}
  const summary = { score: percentOf(applied, reported), total_switch_count: reported }
  return { config_success: { details: { config_success_count: applied }, ...summary } }
}

function presentVersions(versions: readonly MajorVersion[]): Static<typeof SwitchMetricsReply> {
  if (versions.length === 0) return {}
  return {
    version_compliance: {
      details: {
        major_versions: versions.map(({ model, version, count, others }) => ({
          model,
          major_version: version,
          major_count: count,
          system_names: [...others],
        })),
      },
      ...complianceOf(versions),
    },
  }
}

/** The percentage of devices that run the version of most devices of their model. */
function complianceOf(versions: readonly MajorVersion[]): { score: number; total_switch_count: number } {
  const compliant = versions.reduce((sum, { count }) => sum + count, 0)
  const total = versions.reduce((sum, { total: ofModel }) => sum + ofModel, 0)
  return { score: percentOf(compliant, total), total_switch_count: total }
}

function percentOf(part: number, whole: number): number {
  return Math.floor((part / whole) * 100)
}

/** Source: contract, `gateway_metrics`. */
export const GatewayMetricsReply = named(
  'GatewayMetrics',
  Type.Object({
    config_success: Type.Optional(
      Type.Number({
        description: 'percent of the gateways that have applied the newest configuration that they received',
      }),
    ),
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

export function presentGatewayMetrics({ config, versions }: SiteMetrics): Static<typeof GatewayMetricsReply> {
  const { reported, applied } = config
  return {
    ...(reported > 0 && { config_success: percentOf(applied, reported) }),
    ...(versions.length > 0 && { version_compliance: presentGatewayVersions(versions) }),
  }
}

function presentGatewayVersions(versions: readonly MajorVersion[]) {
  const byModel = versions.map(({ model, version, count }) => {
    return [model, { major_version: version, major_count: count }] as const
  })
  const { score: compliance } = complianceOf(versions)
  return { type: 'gateway' as const, score: compliance, major_version: Object.fromEntries(byModel) }
}
