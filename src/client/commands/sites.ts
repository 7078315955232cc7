import { rowsOf } from '../api.ts'
import { fields, table } from '../output.ts'
import { type AddCommands, query, wholeNumber } from './command.ts'

interface ListOptions {
  readonly limit: number
  readonly page: number
}

export const addSiteCommands: AddCommands = (program, open) => {
  program
    .command('sites')
    .description('list the sites of the organization')
    .option('--limit <number>', 'sites of one page', wholeNumber, 100)
    .option('--page <number>', 'the page', wholeNumber, 1)
    .action(async ({ limit, page }: ListOptions, command) => {
      const session = open(command)
      const api = await session.connect()
      const path = `/api/v1/orgs/${await session.orgId(api)}/sites${query({ limit, page })}`
      const rows = rowsOf(await api.get(path))
      session.output.show(rows, () => table(fields('name', 'timezone', 'country_code', 'id'), rows, session.width))
    })
}
