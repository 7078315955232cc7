-- A connection keeps its plan of this statement. If there were no messages when it was made, each deleted webhook would read those
-- of all others. See docs/decisions/0486-webhooks-and-lanes-are-looked-up.md.
alter function delete_messages_of_webhook() set enable_seqscan = off;
