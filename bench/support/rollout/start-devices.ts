import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { wakeMessage } from '../../../src/app/gateway/gateway-messages.ts'
import type { OpenContext } from '../../../src/app/open-context.ts'
import type { ConnectMessage, DevicesReport, FromDevices, ToDevices } from './messages.ts'

const program = fileURLToPath(new URL('devices.ts', import.meta.url))
const READ_TIME_MS = 1000

/** Simulated devices, and the records that the gateway makes of them, in a process of their own. */
export interface DevicesProcess {
  readonly orgId: string
  /** The node of the gateway. */
  readonly nodeId: string
  readonly connectMs: number
  /** Has the devices answer commands from now on. */
  answer(): void
  /** Ends their answers. */
  report(): Promise<DevicesReport>
  end(): Promise<void>
}

/** Starts the process, creates an organization with its devices there, and connects them. */
export async function startDevices(
  { ctx, readTime }: Pick<OpenContext, 'ctx' | 'readTime'>,
  given: Omit<ConnectMessage, 'kind' | 'time'>,
): Promise<DevicesProcess> {
  const child = fork(program, { execArgv: process.execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const send = (message: ToDevices): void => void child.send(message)
  const wakes = ctx.wakes.connect((...wake) => send(wakeMessage(...wake)))
  const timer = setInterval(() => send({ kind: 'time', reading: readTime() }), READ_TIME_MS)
  const connected = Promise.withResolvers<Extract<FromDevices, { readonly kind: 'connected' }>>()
  const reported = Promise.withResolvers<DevicesReport>()
  child.on('message', (message: FromDevices) => {
    if (message.kind === 'wake') wakes.receive(message.name, message.ids, message.rows)
    else if (message.kind === 'connected') connected.resolve(message)
    else reported.resolve(message)
  })
  const exited = once(child, 'exit')
  // The channel closes before the process counts as exited, and nothing may be sent in between.
  child.once('disconnect', () => {
    clearInterval(timer)
    wakes.disconnect()
  })
  void exited.then(([code]) => {
    const error = new Error(`the process of the devices ended (${code})`)
    connected.reject(error)
    reported.reject(error)
  })
  // Only an end that somebody waits for is an error.
  reported.promise.catch(() => undefined)
  send({ kind: 'connect', time: readTime(), ...given })
  const { orgId, nodeId, connectMs } = await connected.promise
  // The thread of the gateway gets no other wakes of what clients change either.
  wakes.limitTo(['commands', 'sent_commands'])
  return {
    orgId,
    nodeId,
    connectMs,
    answer: () => send({ kind: 'answer' }),
    report() {
      send({ kind: 'report' })
      return reported.promise
    },
    async end() {
      send({ kind: 'end' })
      await exited
    },
  }
}
