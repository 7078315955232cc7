import { type Appliance, NotExecuted, type Service } from './appliance.ts'
import type { State } from './state.ts'

const JOURNAL = 'dry-run.json'

/** What a dry run remembers: its services, and everything that it was told to do. */
export interface DryRun {
  readonly services: readonly Service[]
  readonly done: readonly string[]
}

const initial: DryRun = {
  services: ['mxagent', 'tunterm', 'radsecproxy'].map((name) => ({ name, version: '1.0.0', state: 'running' })),
  done: [],
}

export async function readDryRun(state: State): Promise<DryRun> {
  const text = await state.read(JOURNAL)
  return text === null ? initial : (JSON.parse(text) as DryRun)
}

/** An appliance that changes nothing on the machine, and remembers what it would have done. */
export function dryRunAppliance(state: State): Appliance {
  async function note(what: string, change: (services: readonly Service[]) => readonly Service[] = (same) => same) {
    const { services, done } = await readDryRun(state)
    await state.write(JOURNAL, JSON.stringify({ services: change(services), done: [...done, what] }))
  }
  return {
    methods: ['service.control', 'port.bounce', 'aps.disconnect', 'configure'],
    services: async () => (await readDryRun(state)).services,
    async control(name, action) {
      const { services } = await readDryRun(state)
      if (!services.some((service) => service.name === name)) throw new NotExecuted(`There is no service ${name}`)
      const running = action === 'stop' ? ('stopped' as const) : ('running' as const)
      await note(`${action} ${name}`, (all) =>
        all.map((service) => (service.name === name ? { ...service, state: running } : service)),
      )
    },
    bouncePorts: (ports) => note(`bounce ${ports.join(' ')}`),
    disconnectAps: (macs) => note(`disconnect ${macs.join(' ')}`),
    configure: () => note('configure'),
  }
}
