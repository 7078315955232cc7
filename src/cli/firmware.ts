import type { Command } from 'commander'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Client } from './client.ts'
import { importFirmware } from './import-firmware.ts'

const Moved = Type.Object({ id: Type.Union([Type.String(), Type.Null()]), left: Type.Integer() })

/** Adds the commands for the firmware of all organizations. */
export function addFirmwareCommands(program: Command, operator: () => Promise<Client>): void {
  const firmware = program.command('firmware').description('manage firmware images')

  firmware
    .command('import <folder>')
    .description(
      'import the images that firmware.json in the folder lists; repeat it to continue an interrupted import',
    )
    .requiredOption('--org <id>', 'the organization that gets them')
    .option('--dry-run', 'check everything, and change nothing')
    .action(async (folder: string, { org, dryRun }: { org: string; dryRun?: true }) => {
      const client = await operator()
      await importFirmware(client, { folder, orgId: org, dryRun: dryRun === true, onResult: printLine })
    })

  firmware
    .command('move')
    .description('move the images of the data folder to the object store of the settings')
    .action(async () => {
      const client = await operator()
      for (let left = 1; left > 0;) {
        const moved = Value.Parse(Moved, await client.call('POST', '/operator/v1/firmware/move'))
        if (moved.id !== null) printLine(moved)
        left = moved.left
      }
    })
}

function printLine(result: object): void {
  process.stdout.write(`${JSON.stringify(result)}\n`)
}
