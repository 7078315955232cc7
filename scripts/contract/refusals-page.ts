import { absences, laterAbsences } from './absences.ts'
import { corrections } from './corrections.ts'
import { differences } from './differences.ts'
import { furtherRefusals } from './further-refusals.ts'
import { ignoredFields, refusedValues, unsetByNull } from './refusals.ts'

/** Returns docs/refusals.md, which is made from the tables. */
export function makeRefusalsPage(): string {
  return [
    '# What Signalbox refuses',
    '',
    'Signalbox takes and answers everything of the published contract, except for what is on this page. It is made from the',
    'tables in `scripts/contract/`; tests compare those with the contract, in both directions, and try what they name with a',
    'running server.',
    'A refusal is a 400 whose `detail` begins with `Invalid field NAME: `, unless the page says something else.',
    '',
    '## Values that writes refuse',
    '',
    'Found by writing every property of the contract with typical and with empty values. Where the',
    'service uses a field, a value of another type is refused too; the rest of a document is stored as it was sent.',
    '',
    ...table(
      ['Object', 'Field', 'Value', 'Words', 'Why'],
      refusedValues.map(({ kinds, fields, values, words, why }) => [
        kinds.join(', '),
        code(fields),
        values,
        words,
        why,
      ]),
    ),
    '',
    '## Requests that are refused',
    '',
    ...table(
      ['Request', 'Words', 'Why'],
      furtherRefusals.map(({ what, words, why }) => [what, words, why]),
    ),
    '',
    '## Fields that null unsets',
    '',
    'A null is answered as null, except in these fields: they are then answered as if nobody had written them. An edge',
    'appliance keeps its `model` where a client sends an empty text.',
    '',
    ...table(
      ['Object', 'Fields'],
      unsetByNull.map(({ kinds, fields }) => [kinds.join(', '), code(fields)]),
    ),
    '',
    '## Fields that only the service sets',
    '',
    "Ids, times and what the hardware says can't be written. Clients send whole records back, so an update takes the value",
    'that answers show, an earlier `modified_time`, null and an empty text; another value is refused: "can\'t be changed: the service sets',
    'it". On creation these fields are those of the new record, whatever a copy of another one says. These fields change',
    'without a write, so an update ignores what a client sends back:',
    '',
    ...table(
      ['Object', 'Fields', 'Why'],
      ignoredFields.map(({ kinds, fields, why }) => [kinds.join(', '), code(fields), why]),
    ),
    '',
    '## Fields that no operation knows',
    '',
    'Records of sites, maps, devices, settings, webhooks, edge appliances and single sign-on keep fields that the contract',
    'does not have, and answer them as they were sent. Every other operation refuses them: "is no field of this operation".',
    '',
    '## Differences of operations',
    '',
    'As `npm run contract` prints them. "Not there" means that an optional field is never answered. Some fields are about',
    'things that no operation of the contract creates, so that nothing could be answered: they are counted apart.',
    '',
    ...table(
      ['Difference', 'Operations', 'Why', 'Counted apart'],
      differences.map(({ fields, operations, why, isOfNothing = false }) => [
        code(fields),
        operations.length === 0 ? 'all that have it' : code(operations),
        why,
        isOfNothing ? 'yes' : '',
      ]),
    ),
    '',
    "## Where the contract's document is not the last word",
    '',
    'The contract corrects its own document, and Signalbox follows the correction.',
    '',
    ...table(
      ['Difference from the document', 'Operations', 'Source'],
      corrections.map(({ fields, operations, source }) => [code(fields), code(operations), source]),
    ),
    '',
    '## Operations that are absent',
    '',
    'They answer 404.',
    '',
    ...table(
      ['Operation', 'Planned', 'Why'],
      [...absences, ...laterAbsences].map(({ operations, isPlanned, why }) => [
        code(operations),
        isPlanned ? 'yes' : 'no',
        why,
      ]),
    ),
    '',
  ].join('\n')
}

function code(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)]
}
