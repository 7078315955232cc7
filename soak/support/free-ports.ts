import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Systems do not assign ports of this range to outgoing connections or to servers that request any free port. */
const FIRST_PORT = 10_000
const LAST_PORT = 30_000

/**
 * Returns ports that are free now, and likely to stay free until a program listens on them, and while it is down. Programs
 * that choose free ports themselves choose others at each start, and some can't choose one.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const port = randomInt(FIRST_PORT, LAST_PORT)
    if (!ports.includes(port) && (await isFree(port))) ports.push(port)
  }
  return ports
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  } catch {
    return false // The port is taken or not permitted.
  }
  server.close()
  await once(server, 'close')
  return true
}
