import type { Command } from 'commander'
import { type Json, objectOf } from '../api.ts'
import { textOf } from '../output.ts'
import type { Session } from '../session.ts'
import { followStream } from '../stream.ts'
import { wholeNumber } from './command.ts'
import { findPlacedDevice } from './find.ts'

/** Adds the command that lets a device ping a host. The output comes by the stream. */
export function addPingCommand(devices: Command, open: (command: Command) => Session): void {
  devices
    .command('ping <device> <host>')
    .description('ping a host from a device and print the output')
    .option('--count <number>', 'number of echo requests', wholeNumber, 10)
    .action(async (named: string, host: string, { count }: { count: number }, command: Command) => {
      const session = open(command)
      const api = await session.connect()
      const { path } = await findPlacedDevice(api, await session.orgId(api), named)
      const begun = objectOf(await api.post(`/api/v1${path}/ping`, { host, count }))
      const answered = new AbortController()
      // The channel repeats commands that ended in the last seconds, so subscribing after the request misses nothing.
      await followStream(
        api,
        {
          channels: [`${path}/cmd`],
          onData(data) {
            if (data['session'] !== begun['session'] || answered.signal.aborted) return
            session.output.show(data, () => linesOf(data['raw']))
            answered.abort()
          },
          onGap: () => {},
          onLost: (why) => session.output.tell(`connection lost: ${why}; retrying`),
        },
        AbortSignal.any([session.interrupted, answered.signal]),
      )
    })
}

function linesOf(raw: Json | undefined): string {
  return typeof raw === 'string' ? raw.split('\n').map(textOf).join('\n') : ''
}
