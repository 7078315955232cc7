import { stat, writeFile } from 'node:fs/promises'
import { calls, isMethod } from '../gateway/edge/messages.ts'
import { type Appliance, NotExecuted, type Service } from './appliance.ts'
import type { State } from './state.ts'

const JOURNAL = 'dry-run.json'

/** The state of a dry run: its services, its distribution, and a log of all commands. */
export interface DryRun {
  readonly services: readonly Service[]
  readonly distro: string
  readonly done: readonly string[]
}

const initial: DryRun = {
  services: ['mxagent', 'tunterm', 'radsecproxy'].map((name) => ({ name, version: '1.0.0', state: 'running' })),
  distro: 'bookworm',
  done: [],
}

/** Debian's releases, in their order. */
const releases = ['bullseye', 'bookworm', 'trixie', 'forky']

/** The simulated faults of a dry run. */
export interface Faults {
  readonly install?: 'bad_package' | 'never_finishes' | 'other_version'
  readonly distro?: 'fails' | 'changes_nothing'
}

export async function readDryRun(state: State): Promise<DryRun> {
  const text = await state.read(JOURNAL)
  return text === null ? initial : { ...initial, ...(JSON.parse(text) as Partial<DryRun>) }
}

/** An appliance that changes nothing on the machine, and records the actions instead. */
export function dryRunAppliance(state: State, faults: Faults = {}): Appliance {
  async function note(what: string, change: (before: DryRun) => Partial<DryRun> = () => ({})) {
    const before = await readDryRun(state)
    await state.write(JOURNAL, JSON.stringify({ ...before, ...change(before), done: [...before.done, what] }))
  }
  async function findRelease(codename: string): Promise<string> {
    const { distro } = await readDryRun(state)
    const next = codename === 'next' ? releases[releases.indexOf(distro) + 1] : codename
    if (next === undefined) throw new Error(`There is no release after ${distro}`)
    return next
  }
  const noteService = (what: string, name: string, changed: Partial<Service>) =>
    note(what, ({ services }) => ({
      services: services.map((service) => (service.name === name ? { ...service, ...changed } : service)),
    }))
  return {
    methods: Object.keys(calls).filter(isMethod),
    services: async () => (await readDryRun(state)).services,
    ownStats: async () => ({ num_tunnels: 0, tunterm: { monitoring_failed: false } }),
    async control(name, action) {
      const { services } = await readDryRun(state)
      if (!services.some((service) => service.name === name)) throw new NotExecuted(`There is no service ${name}`)
      const running = action === 'stop' ? ('stopped' as const) : ('running' as const)
      await noteService(`${action} ${name}`, name, { state: running })
    },
    bouncePorts: (ports) => note(`bounce ${ports.join(' ')}`),
    disconnectAps: (macs) => note(`disconnect ${macs.join(' ')}`),
    configure: () => note('configure'),
    async collectSupport(path) {
      const text = JSON.stringify(await readDryRun(state))
      await writeFile(path, text, { mode: 0o600 })
      await note('collect support files')
    },
    awaitEarlier: async () => {},
    async install(name, { path, version }) {
      const { install } = faults
      if (install === 'never_finishes') await new Promise(() => {})
      if (install === 'bad_package') throw new Error(`The package of ${name} ${version} is damaged`)
      const { size } = await stat(path)
      await noteService(`install ${name} ${version} of ${size} bytes`, name, {
        version: install === 'other_version' ? `${version}+other` : version,
      })
    },
    distro: async () => (await readDryRun(state)).distro,
    async downloadDistro(codename) {
      await note(`download ${await findRelease(codename)}`)
    },
    async upgradeDistro(codename) {
      if (faults.distro === 'fails') throw new Error('The upgrade of the distribution has failed')
      const next = await findRelease(codename)
      await note(`upgrade to ${next}`, () => (faults.distro === 'changes_nothing' ? {} : { distro: next }))
    },
  }
}
