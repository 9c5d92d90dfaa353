package harness

// Another is the target in one more process, which shares nothing with the
// first but Redis and ends with the case. What it does is also what the target
// does after a restart.
func (t *T) Another() *Provider {
	another, err := t.run.config.Target.Another(t.ctx)
	t.trouble(err)
	t.Cleanup(func() { another.Close() })
	return &Provider{t: t, name: "another process of the target", target: another}
}
