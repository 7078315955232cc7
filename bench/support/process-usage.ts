import { readFile, readdir } from 'node:fs/promises'

/** Returns the resident memory of a process. Linux only. */
export async function residentKb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
}

/** Does the same as residentKb(), including the running child processes except PostgreSQL. Linux only. */
export async function residentKbWithChildren(pid: number): Promise<number> {
  const ids = (await readdir('/proc')).map(Number).filter((id) => id > 0)
  const all = await Promise.all(
    ids.map(async (id) => {
      // A process may end while it is looked at.
      const status = await readFile(`/proc/${id}/status`, 'utf8').catch(() => '')
      const isOwn = id === pid || status.includes(`\nPPid:\t${pid}\n`)
      if (!isOwn || status.startsWith('Name:\tpostgres\n')) return 0
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0)
    }),
  )
  return all.reduce((sum, kb) => sum + kb, 0)
}

const TICKS_PER_S = 100

/** Returns the processor time that a process has used, in seconds. Linux only. */
export async function cpuSeconds(pid: number): Promise<number> {
  const fields = await statOf(pid)
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S
}

/** Does the same as cpuSeconds(), including child processes, even those that have ended. Linux only. */
export async function cpuSecondsWithChildren(pid: number): Promise<number> {
  const ids = (await readdir('/proc')).map(Number).filter((id) => id > 0)
  const all = await Promise.all(ids.map(async (id) => ({ id, fields: await statOf(id).catch(() => []) })))
  const counted = all.filter(({ id, fields }) => id === pid || Number(fields[1]) === pid)
  const ticks = counted.map(({ fields }) => fields.slice(11, 15).reduce((sum, value) => sum + Number(value), 0))
  return ticks.reduce((sum, value) => sum + value, 0) / TICKS_PER_S
}

/** The same of those processes alone that the process has started and that they have, even those that have ended. Linux only. */
export async function cpuSecondsOfDescendants(pid: number): Promise<number> {
  const ids = (await readdir('/proc')).map(Number).filter((id) => id > 0)
  const all = await Promise.all(ids.map(async (id) => ({ id, fields: await statOf(id).catch(() => []) })))
  const byParent = Map.groupBy(all, ({ fields }) => Number(fields[1]))
  // A process that ends leaves its time to its parent, so the sum never falls.
  const endedTicks = (fields: readonly string[]): number => Number(fields[13]) + Number(fields[14])
  const ticksOf = (parent: number): number =>
    (byParent.get(parent) ?? []).reduce(
      (sum, { id, fields }) => sum + Number(fields[11]) + Number(fields[12]) + endedTicks(fields) + ticksOf(id),
      0,
    )
  return (endedTicks(await statOf(pid)) + ticksOf(pid)) / TICKS_PER_S
}

/** Returns the fields of a process after its name, which is in parentheses and may contain spaces. */
async function statOf(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}
