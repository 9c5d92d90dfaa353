package targets

// Reference is refprovider.New, for a file that is being worked on.
var Reference func() Provider
