import type { Command } from 'commander'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { CommandError } from '../client/exit-codes.ts'
import { type Importer, importFirmware } from '../client/import-firmware.ts'
import { AppError } from '../platform/errors.ts'
import type { Client } from './client.ts'

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
      const importer = operatorImporter(await operator(), org)
      await importFirmware(importer, { folder, dryRun: dryRun === true, onResult: printLine })
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

/** Imports with the key of the operator, to any organization. */
export function operatorImporter(client: Client, orgId: string): Importer {
  const path = `/operator/v1/orgs/${encodeURIComponent(orgId)}/firmware`
  return {
    check: (files) =>
      client.call('POST', `${path}/check`, { files }).catch((error: unknown) => {
        if (!(error instanceof AppError) || error.code !== 'not_found') throw commandErrorOf(error)
        throw new CommandError('refused', `The server has no organization ${orgId}; --org is its id`)
      }),
    async upload(file) {
      const values = Object.entries(file.query).map(([name, value]): [string, string] => [name, String(value)])
      await client.uploadFile(`${path}?${new URLSearchParams(values).toString()}`, file).catch((error: unknown) => {
        throw commandErrorOf(error)
      })
    },
  }
}

/** Returns the error itself if no answer of the server, or its absence, has caused it. */
function commandErrorOf(error: unknown): unknown {
  if (!(error instanceof AppError)) return error
  return new CommandError(error.code === 'unavailable' ? 'unavailable' : 'refused', error.message)
}

function printLine(result: object): void {
  process.stdout.write(`${JSON.stringify(result)}\n`)
}
