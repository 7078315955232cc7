import { TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button } from '../display/forms/button.tsx'
import { fieldIn } from '../api/problem.ts'
import { useFocusOnRefusal } from '../display/forms/focus.ts'
import { ProblemNote } from '../display/layout/notices.tsx'
import { GrantFields } from './grant-fields.tsx'
import { firstGrant, privilegesOf } from './grant.ts'

interface GrantFormProps {
  readonly orgId: string
  /** The text that names the new holder of the privileges; `name` is its field in the request. */
  readonly field: {
    readonly name: string
    readonly label: string
    readonly description?: string
    readonly type?: 'email'
  }
  readonly action: string
  readonly create: (value: string, privileges: ReturnType<typeof privilegesOf>) => Promise<unknown>
  /** The key of the query that lists what `create` adds to. */
  readonly listKey: string
}

/** Adds a holder of privileges: a person by an invitation, or a role of single sign-on. */
export function GrantForm({ orgId, field, action, create, listKey }: GrantFormProps) {
  const queries = useQueryClient()
  const [value, setValue] = useState('')
  const [grant, setGrant] = useState(firstGrant)
  const mutation = useMutation({
    mutationFn: () => create(value, privilegesOf(grant, orgId)),
    onSuccess: () => {
      setValue('')
      return queries.invalidateQueries({ queryKey: [listKey, orgId] })
    },
  })
  const { name, ...input } = field
  const refused = mutation.error !== null && fieldIn(mutation.error.message) === name
  const form = useFocusOnRefusal(mutation.error)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    mutation.mutate()
  }
  return (
    <form ref={form} onSubmit={submit}>
      <div className="wizard-fields">
        <TextInput
          {...input}
          required
          value={value}
          error={refused ? mutation.error?.message : null}
          onChange={({ currentTarget }) => setValue(currentTarget.value)}
        />
        <GrantFields orgId={orgId} grant={grant} onChange={setGrant} />
      </div>
      {!refused && <ProblemNote problem={mutation.error} />}
      <p className="panel-buttons">
        <Button type="submit" size="xs" isBusy={mutation.isPending}>
          {action}
        </Button>
      </p>
    </form>
  )
}
