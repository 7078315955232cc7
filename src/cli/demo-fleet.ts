/** The content of the demo: plain data, the same on every machine. */

export interface DemoDevice {
  /** Lower-case hex without separators. */
  readonly mac: string
  readonly serial: string
  readonly model: string
  readonly type: 'ap' | 'switch' | 'gateway'
  readonly claim_code: string
  readonly name: string
  /** Members of a Virtual Chassis, or nodes of a cluster; the first is the device itself. */
  readonly members?: readonly {
    readonly member: number
    readonly mac: string
    readonly serial: string
    readonly model: string
  }[]
  /** `junos` calls home over NETCONF; the others speak uCentral. */
  readonly protocol?: 'junos'
  /** True for a device with two nodes. */
  readonly cluster?: true
}

export const demoSites = [
  { name: 'Berlin', timezone: 'Europe/Berlin', country_code: 'DE', latlng: { lat: 52.52, lng: 13.405 } },
  { name: 'New York', timezone: 'America/New_York', country_code: 'US', latlng: { lat: 40.713, lng: -74.006 } },
  { name: 'Tokyo', timezone: 'Asia/Tokyo', country_code: 'JP', latlng: { lat: 35.677, lng: 139.65 } },
] as const

/** The fleet starts with the first; the second is available for upgrades. */
export const demoVersions = [
  { version: '3.1.0', tag: null },
  { version: '3.2.0', tag: 'suggested' },
] as const

/** The version to which Junos devices return when their backup version is restored. */
export const demoBackupVersion = '3.0.0'

/** The twenty devices of each site: with two EX Virtual Chassis of three members, and a cluster of two SRX. */
const perSite = [
  { model: 'EAP102', type: 'ap', count: 7 },
  { model: 'EAP104', type: 'ap', count: 6 },
  { model: 'SRX345', type: 'gateway', count: 1, members: 2, protocol: 'junos', cluster: true },
  { model: 'ECS4125-10P', type: 'switch', count: 4 },
  { model: 'EX4100-48P', type: 'switch', count: 2, members: 3, protocol: 'junos' },
] as const

/** The SSR router of the first site. It has the agent of Signalbox, which runs in a dry run. */
export const demoRouter = {
  mac: '02516eff0001',
  serial: 'DMSSR000001',
  model: 'SSR120',
  type: 'gateway',
  claim_code: 'DEMO0SSR0100000',
  name: 'berlin-gateway-ssr120-1',
} as const satisfies DemoDevice

/** The router starts with an earlier version than all of these; each one is the newest of its channel. */
const routerVersions = [
  { version: '6.2.0', tag: 'stable' },
  { version: '6.3.0', tag: 'beta' },
  { version: '7.0.0', tag: 'alpha' },
] as const

/** The versions of each model in the catalog. */
export const demoCatalog = [
  ...perSite.map(({ model, type }) => ({ model, type, versions: demoVersions })),
  { model: demoRouter.model, type: demoRouter.type, versions: routerVersions },
]

/** Returns the simulated devices by site, in the order of `demoSites`. MACs are locally administered, so no real device has one. */
export function demoDevices(): DemoDevice[][] {
  return demoSites.map((site, siteIndex) => {
    let ordinal = 0
    return perSite.flatMap((kind) =>
      Array.from({ length: kind.count }, (_, index) => {
        ordinal += 1
        const number = siteIndex * 100 + ordinal
        const device = { ...identity(number, 0), model: kind.model, type: kind.type }
        const name = `${site.name.toLowerCase().replaceAll(' ', '-')}-${kind.type}-${kind.model.toLowerCase()}-${index + 1}`
        const plain = { ...device, name, claim_code: `DEMO0${pad(number, 5)}00000` }
        if (!('members' in kind)) return plain
        const members = Array.from({ length: kind.members }, (__, member) => ({
          member,
          ...identity(number, member),
          model: kind.model,
        }))
        const { protocol } = kind
        return { ...plain, members, protocol, ...('cluster' in kind && { cluster: kind.cluster }) }
      }),
    )
  })
}

function identity(number: number, member: number): { mac: string; serial: string } {
  return {
    mac: `02516e${member.toString(16).padStart(2, '0')}${number.toString(16).padStart(4, '0')}`,
    serial: `DM${pad(member, 2)}${pad(number, 6)}`,
  }
}

function pad(value: number, length: number): string {
  return String(value).padStart(length, '0')
}

const IMAGE_BYTES = 256 * 1024

/** Returns an image as simulated devices read it: a header line, then filler. */
export function demoImage(models: readonly string[], version: string): Buffer {
  return Buffer.alloc(IMAGE_BYTES, `SIGNALBOX-FIRMWARE model=${models.join(',')} version=${version}\n`)
}

/** Edge appliances, each with the agent of Signalbox. */
export const demoMxedges = [
  { name: 'Edge North', model: 'ME-VM', services: ['tunterm'] },
  { name: 'Edge South', model: 'ME-VM', services: ['tunterm'] },
] as const
