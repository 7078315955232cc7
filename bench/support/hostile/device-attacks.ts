import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { EnrolledDevice } from '../devices.ts'
import type { FlooderData, FlooderReport } from '../flooder.worker.ts'
import { type Attack, type AttackRun, inLanes } from './attack.ts'
import { pause } from './call.ts'
import { openDevice } from './device.ts'

/** The hostile devices of each attack. */
const shares = {
  inflating: [0, 1],
  small: [1, 2],
  reconnecting: [2, 22],
  frames: [22, 26],
  largest: [26, 226],
} as const

/** Returns how many hostile devices these attacks need. */
export function countDevices(names: readonly string[]): number {
  return Math.max(0, ...Object.entries(shares).flatMap(([name, [, end]]) => (names.includes(name) ? [end] : [])))
}

const FROM = '127.0.0.68'

const devicesOf = ({ world }: AttackRun, share: keyof typeof shares): readonly EnrolledDevice[] =>
  world.devices.slice(...shares[share])

/** Floods from a separate thread until the end of the attack. */
async function flood(run: AttackRun, kind: FlooderData['kind']): Promise<void> {
  const { world, signal, count } = run
  const data: FlooderData = {
    port: world.ucentralPort,
    ca: world.ca,
    devices: devicesOf(run, kind),
    kind,
    localAddress: FROM,
  }
  const worker = new Worker(new URL('../flooder.worker.ts', import.meta.url), { workerData: data })
  if (!signal.aborted) await once(signal, 'abort')
  worker.postMessage('report')
  const [report] = (await once(worker, 'message')) as [FlooderReport]
  await worker.terminate()
  const outcomes = { sent: report.framesSent, sessions: report.connections, refused: report.refused }
  for (const [outcome, times] of Object.entries(outcomes))
    for (let counted = 0; counted < times; counted += 1) count(outcome)
}

const inflating: Attack = {
  what: 'a device sends 50 frames a second of 3 KB that inflate to 2 MB, and reconnects whenever it is closed',
  run: (run) => flood(run, 'inflating'),
}

const small: Attack = {
  what: 'a device sends 1,000 small frames a second, and reconnects whenever it is closed',
  run: (run) => flood(run, 'small'),
}

const largest: Attack = {
  what: '200 devices each send one of the largest frames per second that they may',
  run: (run) => flood(run, 'largest'),
}

const reconnecting: Attack = {
  what: '20 devices connect, say hello and leave, without end',
  async run(run) {
    const { world, signal, count } = run
    const devices = devicesOf(run, 'reconnecting')
    await inLanes(devices.length, run, async (lane) => {
      const device = devices[lane]
      if (device === undefined) return
      const opened = openDevice({ port: world.ucentralPort, ca: world.ca, device, localAddress: FROM, signal })
      const joined = await Promise.race([opened.joined.then(() => true), opened.closed.then(() => false)])
      opened.close()
      await opened.closed
      if (!signal.aborted) count(joined ? 'joined' : 'refused')
      await pause(10, signal)
    })
  },
}

const frames: Attack = {
  what: 'devices send frames that are no JSON, no call, and of the wrong shape',
  async run(run) {
    const { world, signal, count } = run
    const devices = devicesOf(run, 'frames')
    const odd = ['{', '[]', '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","method":"connect","params":[]}', '\0'.repeat(1000)]
    await inLanes(devices.length, run, async (lane, round) => {
      const device = devices[lane]
      if (device === undefined) return
      const opened = openDevice({ port: world.ucentralPort, ca: world.ca, device, localAddress: FROM, signal })
      await Promise.race([opened.joined, opened.closed])
      opened.send(odd[round % odd.length] ?? '')
      opened.send(randomBytes(10_000))
      if (!signal.aborted) count('sent')
      await Promise.race([opened.closed, pause(1000, signal)])
      opened.close()
      await opened.closed
      await pause(10, signal)
    })
  },
}

/** Attacks that owners of devices can make on the gateway. */
export const deviceAttacks = { inflating, small, largest, reconnecting, frames }
