import type { Command } from 'commander'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Client } from './client.ts'

const Moved = Type.Object({ id: Type.Union([Type.String(), Type.Null()]), left: Type.Integer() })

/** Adds the commands for the firmware of all organizations. */
export function addFirmwareCommands(program: Command, operator: () => Promise<Client>): void {
  const firmware = program.command('firmware').description('manage firmware images')

  firmware
    .command('move')
    .description('move the images of the data folder to the object store of the settings')
    .action(async () => {
      const client = await operator()
      for (let left = 1; left > 0;) {
        const moved = Value.Parse(Moved, await client.call('POST', '/operator/v1/firmware/move'))
        if (moved.id !== null) process.stdout.write(`${JSON.stringify(moved)}\n`)
        left = moved.left
      }
    })
}
