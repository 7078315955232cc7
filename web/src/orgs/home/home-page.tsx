import { TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { Button } from '../../display/forms/button.tsx'
import { useFocusOnRefusal } from '../../display/forms/focus.ts'
import { useSelf } from '../../accounts/self.ts'
import { answerOf, useServer } from '../../api/client.ts'
import { PageTitle } from '../../display/layout/page-title.tsx'

/** The page for people in no organization, or in several. */
export function HomePage() {
  const self = useSelf()
  const orgs = new Map(self?.privileges.map(({ org_id, org_name }) => [org_id, org_name]))
  return (
    <main className="lone">
      <PageTitle title={orgs.size === 0 ? 'Welcome' : 'Your organizations'} />
      {orgs.size === 0 ? (
        <FirstOrg />
      ) : (
        <ul className="org-list">
          {[...orgs].map(([orgId, name]) => (
            <li key={orgId}>
              <Link to="/orgs/$orgId" params={{ orgId }}>
                {name}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </main>
  )
}

function FirstOrg() {
  const { api } = useServer()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const mutation = useMutation({
    mutationFn: (name: string) => answerOf(api.POST('/api/v1/orgs', { body: { name } })),
    async onSuccess({ id }) {
      await queries.invalidateQueries({ queryKey: ['self'] })
      await navigate({ to: '/orgs/$orgId', params: { orgId: id } })
    },
  })
  const form = useFocusOnRefusal(mutation.error)
  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault()
    const name = new FormData(event.currentTarget).get('name')
    if (typeof name === 'string') mutation.mutate(name)
  }
  return (
    <form ref={form} onSubmit={submit}>
      <p>
        You belong to no organization yet. Create one for your network, or ask an admin of an existing one to invite
        you.
      </p>
      <TextInput label="Name of the organization" name="name" required error={mutation.error?.message} />
      <Button type="submit" isBusy={mutation.isPending}>
        Create the organization
      </Button>
    </form>
  )
}
