import { networkInterfaces } from 'node:os'
import { readMachineFacts } from '../machine/facts.ts'
import type { RouterIdentity } from './router-role.ts'

/** Completes the operator's settings with the machine's data. @throws Error if neither has a value. */
export async function readRouterIdentity(given: Partial<RouterIdentity>): Promise<RouterIdentity> {
  const facts = await readMachineFacts()
  const mac = given.mac?.toLowerCase().replaceAll(/[:.-]/g, '') ?? firstMac()
  if (mac === null || !/^[0-9a-f]{12}$/.test(mac)) throw new Error('--mac is needed: twelve hex digits')
  const model = given.model ?? facts.model
  if (model === null) throw new Error('--model is needed: the machine does not name its model')
  return { mac, model, serial: given.serial ?? facts.serial ?? mac }
}

/** Returns the lowest address of the machine's interfaces, so that their order does not matter. */
function firstMac(): string | null {
  const macs = Object.values(networkInterfaces())
    .flatMap((all = []) => all)
    .filter(({ internal, mac }) => !internal && mac !== '00:00:00:00:00:00')
    .map(({ mac }) => mac.replaceAll(':', ''))
  return macs.toSorted((a, b) => (a < b ? -1 : 1))[0] ?? null
}
